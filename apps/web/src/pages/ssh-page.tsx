import type { ProjectSsh } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { KeyRound, SquareTerminal, Unplug } from 'lucide-react'
import { projectSshQuery, sshKeysQuery } from '../api/ssh.ts'
import { CodeBlock } from '../components/code-block.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Facts } from '../components/facts.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.ssh

export function SshPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.ssh)
  const may = useMay()
  const query = useQuery(projectSshQuery(project.id))
  if (!may('operate')) return <EmptyState icon={SquareTerminal} title={t.notAllowed} detail={t.notAllowedDetail} />
  return (
    <div className="flex w-full max-w-4xl flex-col gap-4 px-4 py-5 sm:px-6">
      <Loaded query={query} rows={4} height="h-9">
        {(ssh) => (ssh.listening ? <Reached ssh={ssh} /> : <NotReached reason={ssh.reason} />)}
      </Loaded>
    </div>
  )
}

function NotReached({ reason }: { reason: string | null }) {
  return (
    <Panel flush>
      <EmptyState icon={Unplug} title={t.notListening} detail={reason} />
    </Panel>
  )
}

function Reached({ ssh }: { ssh: ProjectSsh }) {
  return (
    <>
      <Panel title={t.title} detail={t.detail}>
        <div className="flex flex-col gap-4">
          <OwnKeys />
          <Facts
            items={[
              [t.host, `${ssh.host}:${ssh.port}`],
              [t.user, <Users key="users" ssh={ssh} />],
              ...(ssh.hostKey === null
                ? []
                : [[t.fingerprint, <Fingerprint key="key" hostKey={ssh.hostKey} />] as const]),
            ]}
          />
        </div>
      </Panel>
      <Panel title={t.commands} detail={t.commandsDetail}>
        <ul className="flex flex-col gap-3">
          {ssh.commands.map(({ name, command }) => (
            <li key={name} className="flex flex-col gap-1">
              <p className="text-sm text-ink-2">{t.commandNames[name]}</p>
              <CodeBlock code={command} label={t.commandNames[name]} />
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title={t.config} detail={t.configDetail}>
        <CodeBlock code={ssh.config} label={t.config} />
      </Panel>
    </>
  )
}

function Users({ ssh: { user, workloads } }: { ssh: ProjectSsh }) {
  return (
    <>
      <span className="font-mono text-sm">{user}</span>
      {workloads.length > 0 && (
        <ul className="mt-1 flex flex-col gap-0.5 text-ink-2">
          {workloads.map((one) => (
            <li key={one.user}>
              <span className="font-mono text-sm text-ink">{one.user}</span> {t.inWorkload(one.workload)}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Fingerprint({ hostKey }: { hostKey: NonNullable<ProjectSsh['hostKey']> }) {
  return (
    <div className="flex flex-col gap-1">
      <span className="font-mono text-sm break-all">{hostKey.fingerprint}</span>
      <CodeBlock code={hostKey.knownHosts} label={t.knownHosts} />
    </div>
  )
}

/** Somebody without a key cannot log in, and should not have to find out by trying. */
function OwnKeys() {
  const keys = useQuery(sshKeysQuery).data
  if (keys === undefined || keys.length > 0) return null
  return (
    <p className="flex items-start gap-2 rounded-md border border-line bg-sunken px-3 py-2">
      <KeyRound aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
      <span>
        {t.noKeys}{' '}
        <Link to="/settings/ssh-keys" className="rounded text-accent-ink underline underline-offset-2">
          {t.addKey}
        </Link>
      </span>
    </p>
  )
}

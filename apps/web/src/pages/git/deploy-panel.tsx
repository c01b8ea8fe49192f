import type { GitWebhook, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Rocket } from 'lucide-react'
import { useState } from 'react'
import { deployNow, putWebhook, webhookQuery } from '../../api/deploys.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.deploys

/** What follows of a push to the forge. */
export function DeployPanel({ project }: { project: ProjectView }) {
  const query = useQuery(webhookQuery(project.id))
  const deploying = useSubmit()
  return (
    <Panel
      title={t.title}
      detail={t.detail}
      actions={
        <Button
          icon={Rocket}
          busy={deploying.busy}
          onClick={() => void deploying.run(() => deployNow(project.id).then(() => toastDone(t.begun)))}
        >
          {t.deployNow}
        </Button>
      }
    >
      {deploying.error !== null && <ErrorNote error={deploying.error} />}
      <Loaded query={query} rows={4}>
        {(webhook) => <Webhook key={project.id} project={project} webhook={webhook} />}
      </Loaded>
    </Panel>
  )
}

function Webhook({ project, webhook }: { project: ProjectView; webhook: GitWebhook }) {
  const [secret, setSecret] = useState<string | null>(null)
  const [replacing, setReplacing] = useState(false)
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Settings project={project.id} webhook={webhook} onSecret={setSecret} />
      <div className="flex min-w-0 flex-col gap-3">
        {webhook.address === null ? (
          <p className="text-sm text-ink-2">{t.noAddress}</p>
        ) : (
          <>
            <h3 className="font-medium">{t.address}</h3>
            <CodeBlock code={webhook.address} label={t.address} wrap />
            <h3 className="font-medium">{t.secret}</h3>
            {secret === null ? (
              <p className="text-sm text-ink-2">{t.secretKept}</p>
            ) : (
              <>
                <CodeBlock code={secret} label={t.secret} wrap />
                <p className="text-sm text-ink-2">{t.secretOnce}</p>
              </>
            )}
            <div>
              <Button onClick={() => setReplacing(true)}>{t.newSecret}</Button>
            </div>
            <Forges />
            <Deliveries webhook={webhook} />
          </>
        )}
        <Hooks project={project} />
      </div>
      <ConfirmDialog
        open={replacing}
        onClose={() => setReplacing(false)}
        title={t.newSecretTitle}
        detail={t.newSecretDetail}
        submit={t.newSecret}
        onConfirm={async () => setSecret(await putWebhook(project.id, { newSecret: true }))}
      />
    </div>
  )
}

function Settings({
  project,
  webhook,
  onSecret,
}: {
  project: string
  webhook: GitWebhook
  onSecret: (secret: string | null) => void
}) {
  const [enabled, setEnabled] = useState(webhook.enabled)
  const [branch, setBranch] = useState(webhook.branch ?? '')
  const [reset, setReset] = useState(webhook.manner === 'reset')
  const [rollback, setRollback] = useState(webhook.rollback)
  const [every, setEvery] = useState(webhook.watch?.every ?? '')
  const { busy, error, run } = useSubmit()
  const submit = () =>
    run(async () => {
      const made = await putWebhook(project, {
        enabled,
        branch: branch.trim() === '' ? null : branch.trim(),
        manner: reset ? 'reset' : 'fast-forward',
        rollback,
        watch: every.trim() === '' ? null : { every: every.trim() },
      })
      if (made !== null) onSecret(made)
      toastDone(t.saved)
    })
  return (
    <Form onSubmit={submit}>
      <Check label={t.enabled} help={t.enabledHelp} checked={enabled} onChange={setEnabled} />
      <TextField
        label={t.branch}
        help={t.branchHelp}
        optional
        value={branch}
        onChange={(event) => setBranch(event.target.value)}
        mono
        spellCheck={false}
      />
      <Check label={t.rollback} help={t.rollbackHelp} checked={rollback} onChange={setRollback} />
      <Check label={t.reset} help={t.resetHelp} checked={reset} onChange={setReset} />
      <TextField
        label={t.watch}
        help={t.watchHelp}
        optional
        value={every}
        onChange={(event) => setEvery(event.target.value)}
        mono
      />
      {webhook.watched !== null && (
        <p className="text-sm break-words text-ink-2">
          {t.watched} <TimeAgo time={webhook.watched.at} />
          {webhook.watched.error === null ? '' : `: ${webhook.watched.error}`}
        </p>
      )}
      {error !== null && <ErrorNote error={error} />}
      <div>
        <Button type="submit" busy={busy}>
          {t.save}
        </Button>
      </div>
    </Form>
  )
}

/** What to choose at each forge. */
function Forges() {
  return (
    <ul className="flex flex-col gap-1 text-sm text-ink-2">
      {t.forges.map((words) => (
        <li key={words}>{words}</li>
      ))}
    </ul>
  )
}

function Deliveries({ webhook: { deliveries, refused } }: { webhook: GitWebhook }) {
  return (
    <>
      <h3 className="font-medium">{t.deliveries}</h3>
      {refused !== null && (
        <p className="text-sm break-words text-ink-2">
          {t.refused} <TimeAgo time={refused.at} />: {refused.reason}
        </p>
      )}
      {deliveries.length === 0 && <p className="text-sm text-ink-2">{t.noDeliveries}</p>}
      <ul className="flex flex-col gap-2">
        {deliveries.slice(0, 5).map(({ id, at, forge, event, ref, commit, outcome, reason }) => (
          <li key={`${id} ${at}`} className="text-sm">
            <p className="break-words">
              {t.outcomes[outcome]} · {forge}, {event} {ref === null ? '' : ref.replace(/^refs\/heads\//, '')}{' '}
              <span className="font-mono">{commit?.slice(0, 10) ?? ''}</span> · <TimeAgo time={at} />
            </p>
            {reason !== null && <p className="break-words text-ink-2">{reason}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}

function Hooks({ project: { hooks = {} } }: { project: ProjectView }) {
  const entries = Object.entries(hooks).flatMap(([name, hook]) => (hook === undefined ? [] : [[name, hook] as const]))
  return (
    <>
      <h3 className="font-medium">{t.hooks}</h3>
      {entries.length === 0 && <p className="text-sm text-ink-2">{t.noHooks}</p>}
      <ul className="flex flex-col gap-1 text-sm">
        {entries.map(([name, { command }]) => (
          <li key={name} className="break-words">
            {name}: <span className="font-mono break-all">{command.join(' ')}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

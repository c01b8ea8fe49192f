import type { ProjectView } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { gitLogQuery } from '../../api/git.ts'
import { Loaded } from '../../components/loaded.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.git

/** The commits of the head, newest first. */
export function History({ project }: { project: ProjectView }) {
  const query = useInfiniteQuery(gitLogQuery(project.id))
  return (
    <Panel title={t.log} flush>
      <Loaded query={query} rows={4}>
        {({ pages }) => (
          <ol className="divide-y divide-line">
            {pages
              .flatMap(({ items }) => items)
              .map(({ id, subject, author, at }) => (
                <li key={id} className="px-4 py-2">
                  <p className="break-words">{subject}</p>
                  <p className="text-sm break-words text-ink-2">
                    <span className="font-mono">{id.slice(0, 10)}</span> · {author.name} · <TimeAgo time={at} />
                  </p>
                </li>
              ))}
          </ol>
        )}
      </Loaded>
      <MoreButton query={query} />
    </Panel>
  )
}

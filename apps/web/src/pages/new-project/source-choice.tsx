import { FolderOpen, GitBranch, LayoutTemplate, type LucideIcon, Square } from 'lucide-react'
import { cx } from '../../components/class-names.ts'
import { tileChosen, tileClass, tileInput, tileOther } from '../../components/tile.ts'
import { type Source, sources } from '../../lib/project-form.ts'
import { texts } from '../../texts/index.ts'

const t = texts.create

const sourceIcons: Readonly<Record<Source, LucideIcon>> = {
  template: LayoutTemplate,
  git: GitBranch,
  folder: FolderOpen,
  empty: Square,
}

export function SourceChoice({ value, onChange }: { value: Source; onChange: (source: Source) => void }) {
  return (
    <fieldset className="grid grid-cols-2 gap-2 lg:grid-cols-4 xl:grid-cols-2 2xl:grid-cols-4">
      <legend className="mb-2 text-sm font-medium">{t.sourceLabel}</legend>
      {sources.map((source) => {
        const Icon = sourceIcons[source]
        return (
          <label
            key={source}
            className={cx(tileClass, 'items-center gap-2 p-2.5', value === source ? tileChosen : tileOther)}
          >
            <input
              type="radio"
              name="source"
              checked={value === source}
              onChange={() => onChange(source)}
              className={tileInput}
            />
            <Icon aria-hidden className={cx('size-4', value === source ? 'text-accent-ink' : 'text-ink-3')} />
            <span className="min-w-0 truncate font-medium">{t.sources[source]}</span>
          </label>
        )
      })}
    </fieldset>
  )
}

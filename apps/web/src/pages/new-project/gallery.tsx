import type { OfferedTemplate } from '@stackquay/contract'
import { Check as CheckIcon } from 'lucide-react'
import { cx } from '../../components/class-names.ts'
import { tileChosen, tileClass, tileInput, tileOther } from '../../components/tile.ts'
import { Monogram } from '../../modules/monogram.tsx'
import { texts } from '../../texts/index.ts'
import { Missing, Tiles } from './tiles.tsx'

const t = texts.create

export function Gallery({
  templates,
  chosen,
  onChoose,
  error,
}: {
  templates: readonly OfferedTemplate[]
  chosen: string
  onChoose: (name: string) => void
  error: string | null
}) {
  if (templates.length === 0) return <p className="text-ink-2">{t.noTemplates}</p>
  const groups = [
    { title: t.examples, items: templates.filter((template) => template.example && template.available) },
    { title: t.templates, items: templates.filter((template) => !template.example && template.available) },
  ].filter((group) => group.items.length > 0)
  return (
    <div className="flex flex-col gap-4">
      {error && <p className="text-sm text-bad">{error}</p>}
      {groups.map((group) => (
        <fieldset key={group.title} className="min-w-0">
          <legend className="mb-1.5 text-sm text-ink-3">{group.title}</legend>
          <Tiles>
            {group.items.map((template) => (
              <label
                key={template.name}
                className={cx(tileClass, 'gap-3 p-3', chosen === template.name ? tileChosen : tileOther)}
              >
                <input
                  type="radio"
                  name="template"
                  checked={chosen === template.name}
                  onChange={() => onChoose(template.name)}
                  className={tileInput}
                />
                <Monogram label={template.label} />
                <span className="min-w-0 flex-1">
                  <span className="block font-medium">{template.label}</span>
                  <span className="block text-sm text-ink-2">{template.summary}</span>
                </span>
                {chosen === template.name && <CheckIcon aria-hidden className="size-4 shrink-0 text-accent-ink" />}
              </label>
            ))}
          </Tiles>
        </fieldset>
      ))}
      <Missing items={templates.filter((template) => !template.available)} />
    </div>
  )
}

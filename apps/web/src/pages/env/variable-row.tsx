import type { ProjectView } from '@stackquay/contract'
import { Eye, EyeOff, LockKeyhole, Pencil, Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { ActionsCell, Cell } from '../../components/table.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.env

export type ListedVariable = ProjectView['env'][string]

interface VariableRowProps {
  readonly name: string
  readonly variable: ListedVariable
  /** When the list was read: a value revealed before may be an old one. */
  readonly readAt: number
  readonly receivers: string | null
  readonly reason: string | null
  readonly mayChange: boolean
  readonly reveal: () => Promise<string>
  readonly onEdit: () => void
  readonly onDelete: () => void
}

export function VariableRow({
  name,
  variable,
  readAt,
  receivers,
  reason,
  mayChange,
  reveal,
  onEdit,
  onDelete,
}: VariableRowProps) {
  const secret = useRevealed(reveal, readAt)
  const value = variable.secret ? secret.value : variable.value
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="max-w-80 align-top">
        <code className="block truncate leading-8 font-medium" title={name}>
          {name}
        </code>
      </Cell>
      <Cell className="w-full max-w-0 min-w-28 align-top sm:min-w-40">
        <Value value={value} whole={variable.secret} />
      </Cell>
      {receivers !== null && <Cell className="align-top leading-8 whitespace-nowrap text-ink-2">{receivers}</Cell>}
      <ActionsCell className="py-2! align-top">
        {variable.secret && mayChange && (
          <IconButton
            icon={secret.value === null ? Eye : EyeOff}
            label={secret.value === null ? t.revealOne(name) : t.hideOne(name)}
            busy={secret.busy}
            onClick={() => void secret.toggle()}
          />
        )}
        {value !== null && <CopyButton text={value} label={t.copyOne(name)} size="md" />}
        {mayChange && (
          <>
            <IconButton icon={Pencil} label={t.editOne(name)} reason={reason} onClick={onEdit} />
            <IconButton icon={Trash2} label={t.deleteOne(name)} reason={reason} onClick={onDelete} />
          </>
        )}
      </ActionsCell>
    </tr>
  )
}

/** One secret's value: read when it is asked for, kept nowhere else, and gone when the list is read again. */
function useRevealed(reveal: () => Promise<string>, readAt: number) {
  const [value, setValue] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new reading of the list hides what was revealed.
  useEffect(() => setValue(null), [readAt])
  const toggle = async () => {
    if (value !== null) return setValue(null)
    setBusy(true)
    try {
      setValue(await reveal())
    } catch (failure) {
      toastProblem(failure)
    } finally {
      setBusy(false)
    }
  }
  return { value, busy, toggle }
}

export function receiversText({ runtimes }: ListedVariable, labels: Readonly<Record<string, string>>): string {
  return runtimes === null ? t.allReceivers : runtimes.map((runtime) => labels[runtime] ?? runtime).join(', ')
}

/** `whole`: a person asked to see it, so it is not shortened. */
function Value({ value, whole }: { value: string | null; whole: boolean }) {
  if (value === null) {
    return (
      <span className="inline-flex items-center gap-1.5 leading-8 text-ink-3">
        <LockKeyhole aria-hidden className="size-3.5" />
        {t.secretValue}
      </span>
    )
  }
  if (value === '') return <span className="leading-8 text-ink-3 italic">{t.emptyValue}</span>
  if (whole) return <code className="block py-1.5 break-all whitespace-pre-wrap">{value}</code>
  const lines = value.split('\n').length
  return (
    <span className="flex min-w-0 items-center gap-2 leading-8">
      <code className="block min-w-0 truncate">{value.split('\n')[0]}</code>
      {lines > 1 && (
        <span className="numbers shrink-0 rounded-full bg-idle-soft px-2 text-xs leading-5 text-ink-2">
          {t.lines(lines)}
        </span>
      )}
    </span>
  )
}

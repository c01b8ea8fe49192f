import type { Addon } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { FileText, FileUp } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { addAddon, checkAddon } from '../../api/addons.ts'
import { problemFrom } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ProblemNote } from '../../components/error-state.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone, toastFailed } from '../../components/toast.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { addonExample } from '../../lib/addon-example.ts'
import { lateOf } from '../../lib/addons.ts'
import { textIn } from '../../lib/files.ts'
import { TextEditor } from '../../modules/text-editor.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.addons
/** As the service reads at most. */
const longest = 64 << 10

interface AddonFormProps {
  /** Of the addons that are there. */
  names: readonly string[]
  /** The addon whose file it is; null for a new one. */
  replaced: Addon | null
  start: string
  onClose: () => void
}

/** A file that is checked while it is written; what is wrong is said with its line. */
export function AddonForm({ names, replaced, start, onClose }: AddonFormProps) {
  const [loaded, setLoaded] = useState({ text: start, count: 0 })
  const [text, setText] = useState(start)
  const { busy, error, clear, run } = useSubmit()
  const check = useCheck(text)
  const shown = error ?? check.error
  const problem = shown === null ? null : problemFrom(shown)
  const errors = problem?.errors
  const faulty = useMemo(() => (errors ?? []).flatMap(({ line }) => (line === undefined ? [] : [line])), [errors])
  const isThere = check.addon !== null && names.includes(check.addon.name)
  const take = (next: string) => {
    setText(next)
    setLoaded(({ count }) => ({ text: next, count: count + 1 }))
    clear()
  }
  const send = () =>
    run(async () => {
      const { name, title } = await addAddon(text)
      toastDone(names.includes(name) ? t.replaced(title) : t.added(title))
      onClose()
    })
  return (
    <Form onSubmit={send}>
      <div className="flex flex-wrap gap-2">
        <ChooseFile onText={take} />
        {replaced === null && text === '' && (
          <Button icon={FileText} onClick={() => take(addonExample)}>
            {t.example}
          </Button>
        )}
      </div>
      <TextEditor
        key={loaded.count}
        label={t.file}
        start={loaded.text}
        onChange={(next) => {
          setText(next)
          clear()
        }}
        onSave={() => void send()}
        faulty={faulty}
      />
      <div role="status" className="flex flex-col gap-1 text-sm break-words text-ink-2 empty:hidden">
        {shown === null && <Outcome check={check} isEmpty={text.trim() === ''} isThere={isThere} replaced={replaced} />}
      </div>
      {problem !== null && <ProblemNote problem={errors === undefined ? problem : { ...problem, title: t.faulty }} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={text.trim() === ''}>
          {isThere ? t.replaceSubmit : t.add}
        </Button>
      </DialogActions>
    </Form>
  )
}

interface Check {
  readonly addon: Addon | null
  readonly error: unknown
  readonly pending: boolean
}

/** What the service says of a file as soon as typing rests. */
function useCheck(text: string): Check {
  const settled = useDebounced(text, 350)
  const isEmpty = text.trim() === ''
  const query = useQuery({
    queryKey: ['addon-check', settled],
    queryFn: ({ signal }) => checkAddon(settled, signal),
    enabled: settled.trim() !== '',
    staleTime: 0,
    gcTime: 0,
  })
  const isOld = isEmpty || text !== settled
  return {
    addon: isOld ? null : (query.data ?? null),
    error: isOld || query.isFetching ? null : query.error,
    pending: !isEmpty && (isOld || query.isFetching),
  }
}

interface OutcomeProps {
  check: Check
  isEmpty: boolean
  isThere: boolean
  replaced: Addon | null
}

function Outcome({ check: { addon, pending }, isEmpty, isThere, replaced }: OutcomeProps) {
  if (isEmpty) return <p>{t.idle}</p>
  if (addon === null) return pending ? <p>{t.reading}</p> : null
  const { name, title, versions, usedBy } = addon
  const late = lateOf(usedBy)
  return (
    <>
      <p>{(isThere ? t.replaces : t.adds)(title, name, versions.join(', '))}</p>
      {late.length > 0 && <p>{t.late(late.join(', '))}</p>}
      {replaced !== null && replaced.name !== name && <p className="text-warn">{t.otherName(replaced.title)}</p>}
    </>
  )
}

function ChooseFile({ onText }: { onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null)
  const read = async (file: File) => {
    const text = file.size > longest ? null : textIn(new Uint8Array(await file.arrayBuffer()))
    if (text === null) toastFailed(t.unreadable(file.name), '')
    else onText(text)
  }
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".yml,.yaml"
        hidden
        aria-label={t.chooseFile}
        onChange={(event) => {
          const file = event.target.files?.[0]
          if (file !== undefined) void read(file)
          // The same file can be chosen again.
          event.target.value = ''
        }}
      />
      <Button icon={FileUp} onClick={() => input.current?.click()}>
        {t.chooseFile}
      </Button>
    </>
  )
}

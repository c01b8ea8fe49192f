import type { TlsCertificate } from '@stackquay/contract'
import { FileUp } from 'lucide-react'
import { useRef, useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextArea } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastFailed } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.certificates

const longest = 65_536
const places = ['/certificate', '/key', '/chain']

export function AddCertificate({
  onClose,
  onAdded,
}: {
  onClose: () => void
  onAdded: (made: TlsCertificate) => Promise<void>
}) {
  const [certificate, setCertificate] = useState('')
  const [key, setKey] = useState('')
  const [chain, setChain] = useState('')
  const { busy, error, problem, run } = useSubmit()
  const submit = () =>
    run(async () => {
      const body = { certificate, key, ...(chain.trim() === '' ? {} : { chain }) }
      await onAdded(await client.call('putTlsCertificate', { body }))
    })
  return (
    <Form onSubmit={submit}>
      <PemField
        label={t.certificate}
        help={t.certificateHelp}
        value={certificate}
        onText={setCertificate}
        autoFocus
        error={errorsAt(problem?.errors, '/certificate')}
      />
      <PemField label={t.key} help={t.keyHelp} value={key} onText={setKey} error={errorsAt(problem?.errors, '/key')} />
      <PemField
        label={t.chain}
        help={t.chainHelp}
        value={chain}
        onText={setChain}
        optional
        error={errorsAt(problem?.errors, '/chain')}
      />
      {error !== null && <ErrorNote error={error} hideErrors={places} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.add}
        </Button>
      </DialogActions>
    </Form>
  )
}

function PemField({
  label,
  help,
  value,
  onText,
  error,
  optional,
  autoFocus,
}: {
  label: string
  help: string
  value: string
  onText: (text: string) => void
  error: ReturnType<typeof errorsAt>
  optional?: boolean
  autoFocus?: boolean
}) {
  const input = useRef<HTMLInputElement>(null)
  const read = async (file: File) => {
    if (file.size > longest) toastFailed(t.tooLong(file.name), '')
    else onText(await file.text())
  }
  return (
    <div className="flex flex-col gap-2">
      <TextArea
        label={label}
        help={help}
        mono
        rows={4}
        maxLength={longest}
        value={value}
        onChange={(event) => onText(event.target.value)}
        error={error}
        {...(optional === true ? { optional } : { required: true })}
        {...(autoFocus === true && { autoFocus })}
      />
      <input
        ref={input}
        type="file"
        hidden
        aria-label={t.chooseFile(label)}
        onChange={(event) => {
          const file = event.target.files?.[0]
          if (file !== undefined) void read(file)
          // The same file can be chosen again.
          event.target.value = ''
        }}
      />
      <Button
        size="sm"
        icon={FileUp}
        className="w-fit"
        aria-label={t.chooseFile(label)}
        onClick={() => input.current?.click()}
      >
        {t.choose}
      </Button>
    </div>
  )
}

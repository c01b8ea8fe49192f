import { Upload } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.backups

/** Chooses an archive and sends it. */
export function UploadButton({ label, onFile }: { label: string; onFile: (file: File) => Promise<unknown> }) {
  const input = useRef<HTMLInputElement>(null)
  const [busy, setBusy] = useState(false)
  const send = async (file: File) => {
    setBusy(true)
    try {
      await onFile(file)
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
      // The same file can be chosen again.
      if (input.current !== null) input.current.value = ''
    }
  }
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".tar,application/x-tar"
        aria-label={label}
        tabIndex={-1}
        className="sr-only"
        onChange={(event) => {
          const file = event.target.files?.[0]
          if (file !== undefined) void send(file)
        }}
      />
      <Button icon={Upload} busy={busy} onClick={() => input.current?.click()}>
        {busy ? t.uploading : label}
      </Button>
    </>
  )
}

import { useState } from 'react'
import { isStatus } from '../../api/client.ts'
import { writeFile } from '../../api/files.ts'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { joined } from '../../lib/files.ts'
import { texts } from '../../texts/index.ts'

export interface Upload {
  readonly name: string
  readonly share: number
}

/** One after the other. What is there already is asked about, and not replaced meanwhile. */
export function useUploads(
  project: string,
  folder: string,
  onThere: (name: string, again: () => Promise<void>) => void,
) {
  const [under, setUnder] = useState<readonly Upload[]>([])
  const send = async (file: File, ifMatch: string | null) => {
    const others = (all: readonly Upload[]) => all.filter(({ name }) => name !== file.name)
    const tell = (share: number) => setUnder((all) => [...others(all), { name: file.name, share }])
    tell(0)
    try {
      await writeFile(project, joined(folder, file.name), file, ifMatch, tell)
      toastDone(texts.files.uploaded(file.name))
    } finally {
      setUnder(others)
    }
  }
  const begin = async (files: readonly File[]) => {
    for (const file of files)
      await send(file, null).catch((error: unknown) => {
        if (isStatus(error, 412)) onThere(file.name, () => send(file, '*'))
        else toastProblem(error)
      })
  }
  return { under, begin: (files: FileList | null) => void begin([...(files ?? [])]) }
}

import { apiPrefix } from '@stackquay/client'
import type { ComponentProps } from 'react'
import { saveFile } from '../api/download.ts'
import { toastProblem } from '../components/toast.tsx'

/** A link to a file of the API. A click asks for a ticket first: the address alone opens nothing. */
export function DownloadLink({
  path,
  fileName = '',
  ...rest
}: { path: string; fileName?: string } & Omit<ComponentProps<'a'>, 'href' | 'download' | 'onClick'>) {
  return (
    <a
      {...rest}
      href={apiPrefix + path}
      download={fileName}
      onClick={(event) => {
        event.preventDefault()
        saveFile(path, fileName).catch(toastProblem)
      }}
    />
  )
}

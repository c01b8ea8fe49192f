import { texts } from '../texts/index.ts'
import { Button } from './button.tsx'

interface Pages {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => Promise<unknown>
}

/** The next page of a long list, at its end. */
export function MoreButton({ query }: { query: Pages }) {
  if (!query.hasNextPage) return null
  return (
    <div className="flex justify-center border-t border-line p-3">
      <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {texts.common.more}
      </Button>
    </div>
  )
}

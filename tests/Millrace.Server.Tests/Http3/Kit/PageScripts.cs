namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>Functions of pages, in JavaScript.</summary>
internal static class PageScripts
{
    /// <summary>The SHA-256 of what a path gives.</summary>
    public const string HashOf =
        """
        async path => {
          const bytes = await (await fetch(path)).arrayBuffer();
          const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
          return [...hash].map(one => one.toString(16).padStart(2, '0')).join('');
        }
        """;

    /// <summary>The hashes of several paths that are fetched at once, in one text.</summary>
    public const string HashesOf = $"async paths => (await Promise.all(paths.map({HashOf}))).join(',')";

    /// <summary>Aborts a download when a piece of it has arrived, and begins another one, which goes on.</summary>
    public const string AbortOneAndBeginAnother =
        """
        async path => {
          const abort = new AbortController();
          const first = (await fetch(path + '?1', { signal: abort.signal })).body.getReader();
          await first.read();
          abort.abort();
          const second = (await fetch(path + '?2')).body.getReader();
          return (await second.read()).value.length;
        }
        """;
}

using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Reads the files with which a site brings rules of its own, and has them compiled. They lie in its root, are read through it like
/// everything, and are never served.
/// </summary>
internal sealed class RuleFiles(RootDirectory root, SiteOptions options)
{
    /// <summary>Thousands of rules. What is larger is something else by that name.</summary>
    public const int BytesMax = 1024 * 1024;

    /// <summary>A file saved by an editor is quiet by the second look.</summary>
    private const int AttemptsMax = 3;

    /// <summary>The state of no file, nor of one that is not there: whatever is seen next is something else.</summary>
    private static readonly FileState ReadAgain = new() { Size = -1 };

    private static ReadOnlySpan<byte> HeadersPathZ => "_headers\0"u8;

    private static ReadOnlySpan<byte> RedirectsPathZ => "_redirects\0"u8;

    public static bool IsName(SitePath path) => path.RelativeZ.SequenceEqual(HeadersPathZ) || path.RelativeZ.SequenceEqual(RedirectsPathZ);

    /// <summary>What they are now, for comparing.</summary>
    public static RuleFileStates Look(RootDirectory root) => new(Look(root, HeadersPathZ), Look(root, RedirectsPathZ));

    /// <summary>
    /// The rules, those of before if their files are as they were. Where there are none of before, a file that cannot be read is a
    /// <see cref="SiteException"/>: a site without the fields it was meant to have is not a lesser one, it is another.
    /// </summary>
    public (SiteRules Rules, RuleFileStates? States) Read(SnapshotContent? previous, ListedDirectory rootListed, SkippedEntries skipped)
    {
        if (!options.SiteFiles)
        {
            return (previous?.Rules ?? SiteRules.Compile(options, [], []), null);
        }

        if (previous is not null && Look(root) == previous.RuleFiles)
        {
            return (previous.Rules, previous.RuleFiles);
        }

        RuleFile headers = Read(HeadersPathZ);
        RuleFile redirects = Read(RedirectsPathZ);
        if (previous is not null && (headers.Refused ?? redirects.Refused) is SkipReason reason)
        {
            skipped.Note(rootListed, headers.Refused is not null ? "/_headers"u8 : "/_redirects"u8, reason);
            return (previous.Rules, reason == SkipReason.KeptChanging ? new RuleFileStates(ReadAgain, ReadAgain) : Look(root));
        }

        headers.ThrowIfRefused("_headers", options);
        redirects.ThrowIfRefused("_redirects", options);
        return (SiteRules.Compile(options, headers.Bytes, redirects.Bytes), new RuleFileStates(headers.State, redirects.State));
    }

    private static FileState Look(RootDirectory root, ReadOnlySpan<byte> pathZ) =>
        root.Look(pathZ, out FileState state) == 0 && state.Type == FileType.Regular ? state : default;

    /// <summary>Reads one until its state before and after are the same. One that is not there is empty.</summary>
    private RuleFile Read(ReadOnlySpan<byte> pathZ)
    {
        int fd = root.OpenFile(pathZ);
        if (fd < 0)
        {
            // A socket is as little a rule file as a FIFO or a directory of that name, which open.
            return -fd is Errno.ENOENT or Errno.ENXIO
                ? default
                : new RuleFile([], default, SkipReason.Unreadable);
        }

        try
        {
            for (int attempt = 0; attempt < AttemptsMax; attempt++)
            {
                long lookedAtNs = WallClock.NowNs;
                if (FileState.Read(fd, out FileState before) == 0 && before.Type != FileType.Regular)
                {
                    return default;
                }

                if (before.Size > BytesMax)
                {
                    return new RuleFile([], default, SkipReason.TooLarge);
                }

                byte[] bytes = new byte[before.Size];
                long read = FileContent.Read(fd, bytes);
                if (read < 0)
                {
                    return new RuleFile([], default, SkipReason.Unreadable);
                }

                if (read == before.Size && FileState.Read(fd, out FileState after) == 0 && after == before)
                {
                    return new RuleFile(bytes, before.IsSettledAt(lookedAtNs) ? before : ReadAgain, null);
                }
            }

            return new RuleFile([], default, SkipReason.KeptChanging);
        }
        finally
        {
            _ = FileCalls.Close(fd);
        }
    }

    private readonly record struct RuleFile(byte[]? Bytes, FileState State, SkipReason? Refused)
    {
        public void ThrowIfRefused(string name, SiteOptions options)
        {
            if (Refused is SkipReason reason)
            {
                throw new SiteException(
                    $"The site's own '{name}' in '{options.Root}' cannot be read ({reason}).",
                    $"Mend the file, or do without its rules ({nameof(SiteOptions.SiteFiles)} off).");
            }
        }
    }
}

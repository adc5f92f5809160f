using System.Text;
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

        if (previous?.RuleFiles is RuleFileStates known && known.Refused?.Reason != SkipReason.IoError && Look(root).AreThoseOf(known))
        {
            Note(known, rootListed, skipped);
            return (previous.Rules, known);
        }

        RuleFile headers = Read(HeadersPathZ);
        RuleFile redirects = Read(RedirectsPathZ);
        var states = new RuleFileStates(headers.State, redirects.State)
        {
            Refused = headers.RefusedAs("/_headers") ?? redirects.RefusedAs("/_redirects"),
        };
        if (previous is not null && states.Refused is not null)
        {
            Note(states, rootListed, skipped);
            return (previous.Rules, states);
        }

        headers.ThrowIfRefused("_headers", options);
        redirects.ThrowIfRefused("_redirects", options);
        return (SiteRules.Compile(options, headers.Bytes, redirects.Bytes), states);
    }

    /// <summary>In every build, as long as it is refused: what is noted of a directory is what its last listing met.</summary>
    private static void Note(in RuleFileStates states, ListedDirectory rootListed, SkippedEntries skipped)
    {
        if (states.Refused is SkippedEntry refused)
        {
            skipped.Note(rootListed, Encoding.ASCII.GetBytes(refused.Path), refused.Reason, refused.Error);
        }
    }

    /// <summary>The state of a file; that of none where there is none; and of each error one of its own, as long as it lasts.</summary>
    private static FileState Look(RootDirectory root, ReadOnlySpan<byte> pathZ)
    {
        int result = root.Look(pathZ, out FileState state);
        return result == 0 ? (state.Type == FileType.Regular ? state : default)
            : result is -Errno.ENOENT ? default
            : new FileState { Size = ReadAgain.Size + result };
    }

    /// <summary>Reads one until its state before and after are the same. One that is not there is empty.</summary>
    private RuleFile Read(ReadOnlySpan<byte> pathZ)
    {
        long openedAtNs = WallClock.NowNs;
        int fd = root.OpenFile(pathZ);
        if (fd < 0)
        {
            // A socket is as little a rule file as a FIFO or a directory of that name, which open.
            return -fd is Errno.ENOENT or Errno.ENXIO
                ? default
                : Unreadable(-fd, Look(root, pathZ), openedAtNs);
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
                    return new RuleFile([], Settled(before, lookedAtNs), SkipReason.TooLarge);
                }

                byte[] bytes = new byte[before.Size];
                long read = FileContent.Read(fd, bytes);
                if (read < 0)
                {
                    return Unreadable((int)-read, before, lookedAtNs);
                }

                if (read == before.Size && FileState.Read(fd, out FileState after) == 0 && after == before)
                {
                    return new RuleFile(bytes, Settled(before, lookedAtNs), null);
                }
            }

            return new RuleFile([], ReadAgain, SkipReason.KeptChanging);
        }
        finally
        {
            _ = FileCalls.Close(fd);
        }
    }

    /// <summary>
    /// What stands in the file's own way (rights, where a symlink leads) changes with its state; any other error may pass without that, so
    /// that one is tried again whenever the root is read.
    /// </summary>
    private static RuleFile Unreadable(int error, in FileState state, long lookedAtNs)
    {
        SkippedEntries.ThrowIfExhausted(error);
        SkipReason reason = SkippedEntries.ReasonFor(error);
        return new RuleFile([], Settled(state, lookedAtNs), reason, error);
    }

    private static FileState Settled(in FileState state, long lookedAtNs) => state.IsSettledAt(lookedAtNs) ? state : ReadAgain;

    private readonly record struct RuleFile(byte[]? Bytes, FileState State, SkipReason? Refused, int Error = 0)
    {
        public SkippedEntry? RefusedAs(string path) => Refused is SkipReason reason ? new SkippedEntry(path, reason, Error) : null;

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

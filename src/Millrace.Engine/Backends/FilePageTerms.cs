using System.Globalization;
using Millrace.Interop.Files;

namespace Millrace.Engine.Backends;

/// <summary>
/// When the pages of a file are sent by reference that others may write to. What was sent so is the file's for as long as somebody may
/// still read it: the kernel, until it is acknowledged; and a peer on the same machine, as over the loopback and between containers it is
/// these pages that lie in its receive queue.
/// </summary>
/// <param name="BytesLeast">So many are to be at hand to begin with: fewer are soon read.</param>
/// <param name="PeerQueueBytes">What a peer may have acknowledged and not read.</param>
/// <param name="OwnQueueBytes">What a socket of our own usually has under way at most.</param>
internal sealed record FilePageTerms(long BytesLeast, long PeerQueueBytes, long OwnQueueBytes)
{
    /// <summary>
    /// Of the kernel's settings when the process began: what it lets a receive queue grow to by itself, or gives to a program that asks for
    /// it, which is the double. Where one of them cannot be read (in a network namespace before Linux 6.11, say) nothing is sent so. A
    /// program may have more with SO_RCVBUFFORCE, or in a network namespace with settings of its own: that is not known here.
    /// </summary>
    public static FilePageTerms OfHost { get; } = new(
        BytesLeast: 1024 * 1024,
        PeerQueueBytes: Math.Max(LastNumberOf("/proc/sys/net/ipv4/tcp_rmem"), 2 * LastNumberOf("/proc/sys/net/core/rmem_max")),
        OwnQueueBytes: 4 * 1024 * 1024);

    /// <summary>More than any file has, and no overflow.</summary>
    private const long Unknown = long.MaxValue / 8;

    /// <summary>So many bytes behind the last page are to be copies: then nobody has to be waited for, as a rule.</summary>
    public long CopiedBytesBehind => PeerQueueBytes + OwnQueueBytes;

    private static long LastNumberOf(string setting) =>
        long.TryParse(KernelFile.TryRead(setting)?.Split('\t', ' ')[^1], CultureInfo.InvariantCulture, out long number) ? number : Unknown;
}

#pragma warning disable RS0030 // The limit is the process's, not a reactor's. The lock is held for an accept near the limit.

using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Accounting;

/// <summary>
/// Keeps accepts from taking the last descriptors of the process (RLIMIT_NOFILE), so that connections wait in the kernel's queue instead:
/// the runtime takes two for each thread it starts, and ends the process if there are none. Any thread.
/// </summary>
internal static class AcceptLimit
{
    private const int ReservedMax = 16;

    /// <summary>Distance from the limit within which an accept may reach it: concurrent threads take one or two descriptors each.</summary>
    private const int NearLimit = 64;

    private static readonly Lock LimitLock = new();
    private static int LastAccepted;

    /// <summary>The descriptor limit without the reserve, as it was on first use.</summary>
    public static int Descriptors { get; } = FileCalls.GetDescriptorLimit(out ResourceLimit limit) < 0
        ? int.MaxValue
        : (int)Math.Min(Reduce(limit.Soft), int.MaxValue);

    public static int Accept(int listenSocket)
    {
        int accepted;
        if (Volatile.Read(ref LastAccepted) < Descriptors - NearLimit)
        {
            accepted = SocketCalls.Accept(listenSocket);
        }
        else
        {
            using Lowered lowered = Lower();
            accepted = SocketCalls.Accept(listenSocket);
        }

        if (accepted >= 0)
        {
            Volatile.Write(ref LastAccepted, accepted);
        }

        return accepted;
    }

    /// <summary>
    /// Lowers the process's limit to <see cref="Descriptors"/> until the result is disposed, which must be soon: it applies to all threads.
    /// What others set meanwhile (prlimit(2)) is not lost.
    /// </summary>
    public static Lowered Lower()
    {
        LimitLock.Enter();
        bool isLowered = FileCalls.GetDescriptorLimit(out ResourceLimit full) == 0;
        ResourceLimit expected = full;
        ResourceLimit lowered = full;
        while (isLowered)
        {
            lowered = full with { Soft = Reduce(full.Soft) };
            isLowered = FileCalls.ExchangeDescriptorLimit(lowered, out ResourceLimit found) == 0;
            if (found == expected)
            {
                break;
            }

            full = found;
            expected = lowered;
        }

        return new Lowered(full, lowered, isLowered);
    }

    private static ulong Reduce(ulong limit) => limit - Math.Clamp(limit / 16, 4, ReservedMax);

    /// <summary>Restores the limit on disposal, unless another has set it meanwhile.</summary>
    public readonly ref struct Lowered(ResourceLimit full, ResourceLimit lowered, bool isLowered) : IDisposable
    {
        public void Dispose()
        {
            // Looked at first: to restore a lower hard limit than another has set could not be undone.
            ResourceLimit expected = lowered;
            ResourceLimit restored = full;
            bool isOurs = isLowered && FileCalls.GetDescriptorLimit(out ResourceLimit current) == 0 && current == lowered;
            while (isOurs && FileCalls.ExchangeDescriptorLimit(restored, out ResourceLimit found) == 0 && found != expected)
            {
                expected = restored;
                restored = found;
            }

            LimitLock.Exit();
        }
    }
}

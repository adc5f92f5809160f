using System.Net;

namespace Millrace.Engine.Listening;

/// <summary>
/// Frees connections of this very machine from pacing. BBR sends each 64 KB when a timer says so, which over the loopback, where no link
/// is shared and nothing lost, costs more than sending does (docs/adr/0014-unpaced-loopback.md has the figures). Pacing cannot be taken
/// back from a connection (<c>sk_pacing_status</c>): so listeners have a control without it, which connections inherit, and those from
/// elsewhere are given the machine's own as they come in, before anything was sent to them.
/// </summary>
internal static class UnpacedLoopback
{
    /// <summary>Part of every kernel, and anybody's unless net.ipv4.tcp_allowed_congestion_control was changed.</summary>
    private const string Unpaced = "reno";

    /// <summary>
    /// Changes the sockets of an address, where their control paces and peers of this machine come there. That control must be one that
    /// anybody may use: a process that gave up its rights could not give it to connections any more.
    /// </summary>
    /// <returns>What connections of other machines are to be given; null where nothing was changed.</returns>
    public static string? Arrange(ReadOnlySpan<int> sockets, EndPoint endPoint)
    {
        if (!IsReachedByLoopback(endPoint)
            || CongestionControl.Of(sockets[0]) is not { } own || !Paces(own) || !CongestionControl.IsAnybodys(own))
        {
            return null;
        }

        bool isChanged = false;
        foreach (int socket in sockets)
        {
            // Whichever kept its own has connections that are paced, as all were before.
            isChanged |= CongestionControl.Offer(socket, Unpaced) >= 0;
        }

        return isChanged ? own : null;
    }

    /// <summary>bbr, and those that were made of it: bbr2, bbr3, bbrplus. With others only a queue of the sort <c>fq</c> paces.</summary>
    internal static bool Paces(string control) => control.StartsWith("bbr", StringComparison.Ordinal);

    private static bool IsReachedByLoopback(EndPoint endPoint) =>
        SocketEndPoint.IsAny(endPoint) || (endPoint is IPEndPoint ip && IPAddress.IsLoopback(ip.Address));
}

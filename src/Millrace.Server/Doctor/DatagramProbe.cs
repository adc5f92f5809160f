using System.Globalization;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Server.Configuration;

namespace Millrace.Server.Doctor;

/// <summary>What UDP sockets of this host can do, which HTTP/3 needs.</summary>
/// <param name="Refusal">Why they cannot be opened; null if they can.</param>
/// <param name="IsSteered">Whether the kernel gives each reactor the datagrams of its connections.</param>
/// <param name="ReceiveBufferBytes">The receive buffer that the kernel grants.</param>
/// <param name="CanSegment">Whether one send may be several datagrams (UDP_SEGMENT).</param>
/// <param name="CanCoalesce">Whether one receive may be (UDP_GRO).</param>
internal sealed record DatagramFacts(
    string? Refusal, bool IsSteered = true, int ReceiveBufferBytes = 0, bool CanSegment = true, bool CanCoalesce = true);

/// <summary>Opens UDP sockets as HTTP/3 does, on a free port of this machine only.</summary>
internal static class DatagramProbe
{
    /// <summary>Two share a port, as those of several reactors do.</summary>
    private const int Sockets = 2;

    /// <summary>Null without HTTP/3.</summary>
    public static DatagramFacts? Read(ServeOptions options)
    {
        if (!options.Http3Addresses.Any())
        {
            return null;
        }

        try
        {
            using DatagramSockets opened = DatagramSockets.Open(
                new IPEndPoint(IPAddress.Loopback, 0), Sockets, new DatagramSettings());
            return new DatagramFacts(null, opened.IsSteered, opened.ReceiveBufferBytes, opened.CanSegment, opened.CanCoalesce);
        }
        catch (EngineException refusal)
        {
            return new DatagramFacts(refusal.Message);
        }
    }
}

/// <summary>Checks what UDP sockets can do: pure.</summary>
internal static class DatagramChecks
{
    /// <summary>Half of what the server asks for: some milliseconds at a gigabit per second.</summary>
    private const int ReceiveBufferPlenty = 1024 * 1024;

    /// <summary>Empty without HTTP/3.</summary>
    public static IEnumerable<Finding> Of(DatagramFacts? facts)
    {
        if (facts is null)
        {
            yield break;
        }

        if (facts.Refusal is { } refusal)
        {
            yield return Finding.Broken(refusal.TrimEnd('.'), "HTTP/3 needs UDP sockets: allow them in the sandbox.");
            yield break;
        }

        string size = string.Create(CultureInfo.InvariantCulture, $"{facts.ReceiveBufferBytes / 1024:N0} KiB");
        yield return facts.ReceiveBufferBytes >= ReceiveBufferPlenty
            ? Finding.Ok($"UDP works, with receive buffers of {size}")
            : Finding.Slower(
                $"UDP sockets have receive buffers of {size}: what arrives while a reactor is busy may be lost",
                string.Create(
                    CultureInfo.InvariantCulture,
                    $"sysctl -w net.core.rmem_max={new DatagramSettings().ReceiveBufferBytes}, or ReceiveBuffer= in a socket unit."));
        if (!facts.CanSegment)
        {
            yield return Finding.Slower("Each datagram takes a send of its own (no UDP_SEGMENT)", "Use Linux 4.18 or newer.");
        }

        if (!facts.CanCoalesce)
        {
            yield return Finding.Slower("Each datagram takes a receive of its own (no UDP_GRO)", "Use Linux 5.0 or newer.");
        }

        if (!facts.IsSteered)
        {
            yield return Finding.Slower(
                "The kernel does not give datagrams to the reactors of their connections: reactors pass them on",
                "Allow SO_ATTACH_REUSEPORT_CBPF in the sandbox.");
        }
    }
}

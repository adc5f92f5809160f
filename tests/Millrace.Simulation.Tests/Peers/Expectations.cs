using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>Which of the answers that a request may have by what has happened to its file is the one that began to come.</summary>
internal sealed class Expectations(World world, SimulationRun run)
{
    /// <param name="exchange">What was asked for.</param>
    /// <param name="beganAtMs">When.</param>
    /// <param name="head">Of the answer, as HTTP/1.1 has it.</param>
    public Response ResponseOf(Exchange exchange, long beganAtMs, ReadOnlySpan<byte> head) =>
        exchange.Proxied is { } proxied ? OfUpstream(exchange.Response, proxied, beganAtMs, head)
        : exchange.OfReleases is { Count: > 0 } releases ? OfRelease(exchange.Response, releases, beganAtMs, head)
        : exchange.Content is { } content ? OfFile(exchange.Response, content, beganAtMs, head)
        : exchange.Response;

    /// <summary>The upstream's answer, or the server's where the upstream gave none for a reason.</summary>
    private Response OfUpstream(Response expected, ProxiedExchange exchange, long beganAtMs, ReadOnlySpan<byte> head)
    {
        int status = head.StartsWith("HTTP/1.1 502 "u8) ? 502 : head.StartsWith("HTTP/1.1 503 "u8) ? 503 : head.StartsWith("HTTP/1.1 504 "u8) ? 504 : 0;
        if (exchange.Attempts.Exists(static attempt => attempt.Fault == FaultKind.UpstreamMalformed))
        {
            // What is malformed are perhaps the chunks, and the head is good.
            expected = expected with { NamesLength = false };
        }

        return status == 0 || run.Upstreams!.WhyNot(exchange, status, beganAtMs) is not null
            ? expected
            : ExchangeGenerator.WithoutUpstream(status, exchange.Method != "HEAD");
    }

    /// <summary>The answer for a file, which may be lost, or cut off.</summary>
    private Response OfFile(Response expected, byte[] content, long beganAtMs, ReadOnlySpan<byte> head)
    {
        if (world.Disk.HasRefusedSince(beganAtMs) && ExchangeGenerator.Lost(head, expected.BringsContent) is { } lost)
        {
            return lost with { Ends = expected.Ends };
        }

        if (head.IndexOf("\r\nETag: "u8) >= 0)
        {
            return expected;
        }

        // Of a file that could not be looked at again nobody knows whether it is still the one it was; nor, over HTTP/2, how long it is.
        long whole = world.Disk.HasRefusedSince(beganAtMs) ? content.Length : 0;
        foreach (long bytes in whole > 0 ? world.Disk.ShrunkSizes.Prepend(whole) : world.Disk.ShrunkSizes.Append(whole))
        {
            Response shrunk = Response.Shrunk(content, (int)Math.Min(bytes, content.Length), expected.BringsContent) with
            {
                Ends = expected.Ends,
                NamesLength = head.IndexOf("\r\nContent-Length: "u8) >= 0,
            };
            if (shrunk.Check(head, out _) is null)
            {
                return shrunk;
            }
        }

        return expected;
    }

    /// <summary>The answer of the release that its tag is of, if that one was served when it could be asked.</summary>
    private Response OfRelease(Response expected, IReadOnlyList<Response> releases, long beganAtMs, ReadOnlySpan<byte> head)
    {
        for (int release = 0; release < releases.Count; release++)
        {
            if (head.IndexOf(releases[release].Line) >= 0 && run.Deployment!.WasServedSince(beganAtMs, release))
            {
                return releases[release];
            }
        }

        return expected;
    }
}

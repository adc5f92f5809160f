using System.Net;
using System.Net.Sockets;
using Millrace.Interop.Sockets;
using Millrace.Server.Configuration;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Doctor;

/// <summary>
/// Connects to the applications that sites send requests to, and to services that they ask, as <c>check</c> and <c>doctor</c> report. Sends
/// nothing.
/// </summary>
internal static class UpstreamProbe
{
    /// <summary>Applications are near; a name that takes longer to resolve is a mistake.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(3);

    public static async Task<IReadOnlyList<UpstreamFacts>> ReadAsync(ServeOptions options)
    {
        IEnumerable<string> targets = options.Sites.SelectMany(static hosted => hosted.Site.UpstreamRules)
            .SelectMany(static rule => rule.Targets).Distinct();
        return await Task.WhenAll(targets.Select(ReadAsync));
    }

    private static async Task<UpstreamFacts> ReadAsync(string text)
    {
        var target = ProxyTarget.Parse(text);
        try
        {
            using var patience = new CancellationTokenSource(Patience);
            if (target.SocketPath is { } path)
            {
                using var unix = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                await unix.ConnectAsync(new UnixDomainSocketEndPoint(path), patience.Token);
                return new UpstreamFacts(text, null);
            }

            IReadOnlyList<IPAddress> addresses = await AcmeProbe.ResolveAsync(target.Host);
            return new UpstreamFacts(text, addresses.Count == 0
                ? $"the name {target.Host} does not resolve here"
                : await ConnectAsync(addresses, target.Port, patience.Token));
        }
        catch (SocketException refusal)
        {
            bool isMissing = target.SocketPath is { } socket && !File.Exists(socket);
            return new UpstreamFacts(text, isMissing ? "the socket does not exist" : NetworkProblem.Of(refusal));
        }
        catch (OperationCanceledException)
        {
            return new UpstreamFacts(text, $"it does not answer within {Patience.TotalSeconds:0} s");
        }
    }

    /// <summary>The last failure, if no address answers.</summary>
    private static async Task<string?> ConnectAsync(IReadOnlyList<IPAddress> addresses, int port, CancellationToken patience)
    {
        string? problem = null;
        foreach (IPAddress address in addresses)
        {
            try
            {
                using var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(address, port, patience);
                return null;
            }
            catch (SocketException refusal)
            {
                problem = NetworkProblem.Of(refusal);
            }
        }

        return problem;
    }
}

/// <summary>An application.</summary>
/// <param name="Target">Where it is.</param>
/// <param name="Problem">Why it cannot be connected to, in a clause; null if it can.</param>
internal sealed record UpstreamFacts(string Target, string? Problem);

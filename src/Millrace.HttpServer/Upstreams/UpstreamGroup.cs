using System.Net;
using System.Net.Sockets;
using Millrace.Interop.Sockets;

namespace Millrace.HttpServer.Upstreams;

/// <summary>Resolves a name to addresses; throws <see cref="SocketException"/> if that fails. Runs on the thread pool.</summary>
internal delegate Task<IPAddress[]> ResolveName(string name, CancellationToken cancellation);

/// <summary>
/// The upstreams of a rule: its targets, and the addresses that their names have now. Shared by the reactors, which read the addresses
/// without a lock. Names are resolved on the thread pool, again and again; if that fails, the previous addresses stay. Any thread.
/// </summary>
internal sealed class UpstreamGroup : IDisposable
{
    private readonly ResolveName _resolve;
    private readonly CancellationTokenSource _ended = new();
    private volatile UpstreamPeer[] _peers;
    private volatile string? _resolveFailure;

    public UpstreamGroup(
        IReadOnlyList<UpstreamTarget> targets, UpstreamOptions options, int reactors, UpstreamLog log, ResolveName? resolve = null)
    {
        Log = log;
        Text = string.Join(", ", targets);
        Targets = targets;
        Options = options;
        ConnectionsPerReactor = Math.Max(1, options.ConnectionsMax / Math.Max(1, reactors));
        _resolve = resolve ?? (static (name, cancellation) => Dns.GetHostAddressesAsync(name, cancellation));
        _peers = [.. targets.Where(target => target.EndPoint is not null).Select(target => new UpstreamPeer(target, target.EndPoint!))];
        if (_peers.Length < targets.Count)
        {
            ThreadPool.UnsafeQueueUserWorkItem(static group => _ = group.KeepResolvingAsync(), this, preferLocal: false);
        }
    }

    public IReadOnlyList<UpstreamTarget> Targets { get; }

    public UpstreamOptions Options { get; }

    public UpstreamLog Log { get; }

    /// <summary>Its targets, in logs.</summary>
    public string Text { get; }

    public int ConnectionsPerReactor { get; }

    /// <summary>The addresses; another array when they have changed. An address that stays keeps its object.</summary>
    public UpstreamPeer[] Peers => _peers;

    /// <summary>Why there is no address; null before the first attempt has ended.</summary>
    public string? ResolveFailure => _resolveFailure;

    /// <summary>Called on the thread pool after <see cref="Peers"/> or <see cref="ResolveFailure"/> has changed.</summary>
    public event Action? Changed;

    /// <summary>Stops resolving. Reactors may still use it.</summary>
    public void Dispose()
    {
        _ended.Cancel();
        _ended.Dispose();
    }

    private async Task KeepResolvingAsync()
    {
        try
        {
            CancellationToken ended = _ended.Token;
            while (true)
            {
                bool resolved = await ResolveAsync(ended).ConfigureAwait(false);
                await Task.Delay(resolved ? Options.ResolveInterval : Options.ResolveRetry, ended).ConfigureAwait(false);
            }
        }
        catch (Exception stopped) when (stopped is OperationCanceledException or ObjectDisposedException)
        {
            // Disposed, perhaps before the first attempt.
        }
    }

    /// <summary>False if a name has no address.</summary>
    private async Task<bool> ResolveAsync(CancellationToken ended)
    {
        var peers = new List<UpstreamPeer>();
        string? failure = null;
        bool isResolved = true;
        foreach (UpstreamTarget target in Targets)
        {
            IEnumerable<UpstreamPeer> before = _peers.Where(peer => peer.Target == target);
            if (target.EndPoint is null)
            {
                try
                {
                    IPAddress[] addresses = await _resolve(target.Host, ended).ConfigureAwait(false);
                    before = [.. addresses.Distinct().Select(address => PeerOf(target, new IPEndPoint(address, target.Port)))];
                }
                catch (SocketException error)
                {
                    isResolved &= before.Any();
                    failure = $"the name {target.Host} cannot be resolved: {NetworkProblem.Of(error)}";
                }
            }

            peers.AddRange(before);
        }

        bool isChanged = !peers.SequenceEqual(_peers) || failure != _resolveFailure;
        _resolveFailure = failure;
        if (isChanged)
        {
            _peers = [.. peers];
            Changed?.Invoke();
        }

        return isResolved;
    }

    private UpstreamPeer PeerOf(UpstreamTarget target, IPEndPoint endPoint) =>
        _peers.FirstOrDefault(peer => peer.Target == target && peer.EndPoint.Equals(endPoint)) ?? new UpstreamPeer(target, endPoint);
}

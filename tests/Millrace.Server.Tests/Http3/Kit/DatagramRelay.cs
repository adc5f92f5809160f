using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>What a <see cref="DatagramRelay"/> does to datagrams.</summary>
internal sealed record DatagramRelayOptions
{
    /// <summary>The share of datagrams that are lost, in each direction. They follow from a fixed seed.</summary>
    public double Loss { get; init; }

    /// <summary>Datagrams of clients wait until <see cref="DatagramRelay.Release"/>.</summary>
    public bool IsHeld { get; init; }

    /// <summary>A client that has received so many bytes appears at <see cref="MovesTo"/>, as behind a NAT.</summary>
    public long? MovesAfter { get; init; }

    /// <summary>The same address as before means another port.</summary>
    public IPAddress MovesTo { get; init; } = IPAddress.Loopback;

    /// <summary>The client moves after a megabyte.</summary>
    public static DatagramRelayOptions Moving(string address) => new() { MovesAfter = 1024 * 1024, MovesTo = IPAddress.Parse(address) };
}

/// <summary>
/// A path of datagrams between clients and a server of this machine, run by tasks of the pool until it is disposed, which fails if they
/// have failed. What the server sends to an address of before still reaches the client.
/// </summary>
internal sealed class DatagramRelay : IAsyncDisposable
{
    private const int DatagramBytesMax = 4096;
    private const int SocketBytes = 4 * 1024 * 1024;

    private static readonly IPEndPoint Anyone = new(IPAddress.Any, 0);

    private readonly DatagramRelayOptions _options;
    private readonly Socket _front = Bind(IPAddress.Loopback);
    private readonly ConcurrentBag<Socket> _backs = [];
    private readonly ConcurrentBag<Task> _backPumps = [];
    private readonly TaskCompletionSource _arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly CancellationTokenSource _stop = new();
    private readonly Random _random = new(1);
    private readonly Task _frontPump;
    private IPEndPoint _server = new(IPAddress.Loopback, 0);
    private int _moves;

    /// <summary>One whose server is not there yet.</summary>
    public DatagramRelay(DatagramRelayOptions options)
    {
        _options = options;
        if (!options.IsHeld)
        {
            _released.SetResult();
        }

        _frontPump = PumpFrontAsync();
    }

    public DatagramRelay(int serverPort, DatagramRelayOptions options)
        : this(options) => SetServer(serverPort);

    /// <summary>Where clients reach the server.</summary>
    public int Port => ((IPEndPoint)_front.LocalEndPoint!).Port;

    /// <summary>A first datagram of a client is here.</summary>
    public Task Arrived => _arrived.Task.WaitAsync(Http3Site.Patience);

    /// <summary>Addresses of clients that have changed.</summary>
    public int Moves => Volatile.Read(ref _moves);

    /// <summary>Before the first client.</summary>
    public void SetServer(int port) => Volatile.Write(ref _server, new IPEndPoint(IPAddress.Loopback, port));

    public void Release() => _released.TrySetResult();

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _frontPump.WaitAsync(Http3Site.Patience);
        await Task.WhenAll(_backPumps).WaitAsync(Http3Site.Patience);
        _front.Dispose();
        foreach (Socket back in _backs)
        {
            back.Dispose();
        }

        _stop.Dispose();
    }

    private static Socket Bind(IPAddress address)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp)
        {
            ReceiveBufferSize = SocketBytes,
            SendBufferSize = SocketBytes,
        };
        socket.Bind(new IPEndPoint(address, 0));
        return socket;
    }

    private async Task PumpFrontAsync()
    {
        Dictionary<EndPoint, Route> routes = [];
        byte[] datagram = new byte[DatagramBytesMax];
        try
        {
            while (true)
            {
                SocketReceiveFromResult received = await _front.ReceiveFromAsync(datagram, SocketFlags.None, Anyone, _stop.Token);
                _arrived.TrySetResult();
                await _released.Task.WaitAsync(_stop.Token);
                if (!routes.TryGetValue(received.RemoteEndPoint, out Route? route))
                {
                    routes.Add(received.RemoteEndPoint, route = new Route(received.RemoteEndPoint));
                    Open(route, IPAddress.Loopback);
                }

                if (!route.HasMoved && route.Received >= _options.MovesAfter)
                {
                    route.HasMoved = true;
                    Open(route, _options.MovesTo);
                    Interlocked.Increment(ref _moves);
                }

                if (!IsLost())
                {
                    await route.Back.SendToAsync(datagram.AsMemory(0, received.ReceivedBytes), SocketFlags.None, Volatile.Read(ref _server), _stop.Token);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // It is disposed of.
        }
    }

    private void Open(Route route, IPAddress address)
    {
        route.Back = Bind(address);
        _backs.Add(route.Back);
        _backPumps.Add(PumpBackAsync(route, route.Back));
    }

    private async Task PumpBackAsync(Route route, Socket back)
    {
        byte[] datagram = new byte[DatagramBytesMax];
        try
        {
            while (true)
            {
                SocketReceiveFromResult received = await back.ReceiveFromAsync(datagram, SocketFlags.None, Anyone, _stop.Token);
                if (!IsLost())
                {
                    route.Count(received.ReceivedBytes);
                    await _front.SendToAsync(datagram.AsMemory(0, received.ReceivedBytes), SocketFlags.None, route.Client, _stop.Token);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // It is disposed of.
        }
    }

    private bool IsLost()
    {
        if (_options.Loss == 0)
        {
            return false;
        }

        lock (_random)
        {
#pragma warning disable CA5394 // Not for secrets.
            return _random.NextDouble() < _options.Loss;
#pragma warning restore CA5394
        }
    }

    /// <summary>One client's address, and the socket that stands for it.</summary>
    private sealed class Route(EndPoint client)
    {
        private long _received;

        public EndPoint Client => client;

        public Socket Back { get; set; } = null!;

        public bool HasMoved { get; set; }

        public long Received => Volatile.Read(ref _received);

        public void Count(int bytes) => Interlocked.Add(ref _received, bytes);
    }
}

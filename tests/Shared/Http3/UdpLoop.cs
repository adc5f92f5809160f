using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Millrace.Quic.Connections;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;
using Millrace.Tls.Quic;

namespace Millrace.Tests.Shared;

/// <summary>
/// A QUIC endpoint on a UDP socket of the loopback, driven by a thread of its own: as little as is needed to exchange packets with other
/// people's programs. What it posts runs on that thread, which alone uses connections and streams.
/// </summary>
internal sealed class UdpLoop : IDisposable
{
    private const int DatagramsOfRound = 64;
    private const int SegmentsMax = 10;
    private const int WaitMicroseconds = 5_000;

    private static readonly byte[] WakeUp = [0];

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
    private readonly QuicTokenKeys _keys = QuicTokenKeys.Create();
    private readonly OpenSslQuicCryptography _cryptography;
    private readonly BlockPool _blocks = new();
    private readonly ConcurrentQueue<Action<long>> _posted = new();
    private readonly PathAddress _local;
    private readonly byte[] _buffer = new byte[64 * 1024];
    private readonly SocketAddress _peer = new(AddressFamily.InterNetwork);
    private readonly IPEndPoint _own;
    private readonly Thread _thread;
    private volatile bool _isStopping;
    private Exception? _failure;

    public UdpLoop(QuicSettings settings, EndpointLimits limits, IQuicAcceptor? acceptor)
    {
        _socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _socket.ReceiveBufferSize = _socket.SendBufferSize = 4 * 1024 * 1024;
        _socket.Blocking = false;
        _own = (IPEndPoint)_socket.LocalEndPoint!;
        _local = AddressOf(_own);
        _cryptography = new OpenSslQuicCryptography(_keys);
        Endpoint = new QuicEndpoint(settings, limits, _cryptography, _blocks, new StreamPool(_blocks), acceptor);
        _thread = new Thread(Run) { IsBackground = true, Name = "quic loop" };
        _thread.Start();
    }

    public int Port => _local.Port;

    public QuicEndpoint Endpoint { get; }

    /// <summary>The ports of peers that datagrams came from.</summary>
    public ConcurrentDictionary<int, int> PeerPorts { get; } = new();

    /// <summary>The first bytes of what was sent without a connection: Retry, Version Negotiation and others.</summary>
    public ConcurrentQueue<byte> Replies { get; } = new();

    public static PathAddress AddressOf(IPEndPoint endPoint) =>
        PathAddress.FromIPv4(BinaryPrimitives.ReadUInt32BigEndian(endPoint.Address.GetAddressBytes()), (ushort)endPoint.Port);

    /// <summary>Runs on the loop's thread, with the time.</summary>
    public void Post(Action<long> action)
    {
        _posted.Enqueue(action);
        Wake();
    }

    public Task<T> AskAsync<T>(Func<long, T> question)
    {
        var answer = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        Post(now =>
        {
            try
            {
                answer.SetResult(question(now));
            }
#pragma warning disable CA1031 // The one who asks gets it.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                answer.SetException(failure);
            }
        });
        return answer.Task;
    }

    /// <summary>Begins a connection to a server of this machine.</summary>
    public Task<QuicConnection> ConnectAsync(
        int port, OpenSslQuicHandshake handshake, IQuicConnectionHandler handler, uint version = 1, byte[]? token = null) =>
        AskAsync(now => Endpoint.Connect(
            _local, AddressOf(new IPEndPoint(IPAddress.Loopback, port)), handshake, handler, version, token,
            isAfterVersionNegotiation: false, now));

    /// <summary>Ends all connections, and fails the test if the loop has failed or memory is left.</summary>
    public void Dispose()
    {
        _isStopping = true;
        Assert.True(_thread.Join(TimeSpan.FromSeconds(10)), "The loop does not end.");
        _socket.Dispose();
        _cryptography.Dispose();
        _keys.Dispose();
        Assert.True(_failure is null, _failure?.ToString());
        Assert.Equal(0, _blocks.LentBlocks);
        _blocks.Dispose();
    }

    /// <summary>Ends the wait for a datagram, by one of its own. If there is no room for it, the wait is short anyway.</summary>
    private void Wake()
    {
        try
        {
            _socket.SendTo(WakeUp, SocketFlags.None, _own);
        }
        catch (SocketException full) when (full.SocketErrorCode is SocketError.WouldBlock or SocketError.NoBufferSpaceAvailable)
        {
            // It ends by itself.
        }
        catch (ObjectDisposedException)
        {
            // The loop has ended: nobody waits.
        }
    }

    private static long Now() => (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

    private void Run()
    {
        try
        {
            while (!_isStopping)
            {
                Round();
            }

            foreach (QuicConnection connection in Endpoint.Connections.ToArray())
            {
                connection.Close(0, "", Now());
                Send(connection);
            }

            Endpoint.Abort();
        }
#pragma warning disable CA1031 // The test gets it at the end.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            _failure = failure;
        }
    }

    private void Round()
    {
        long next = long.MaxValue;
        foreach (QuicConnection connection in Endpoint.Connections)
        {
            next = Math.Min(next, connection.NextTimeout);
        }

        long wait = Math.Clamp((next - Now()) / 1_000, 0, WaitMicroseconds);
        if (_socket.Poll((int)wait, SelectMode.SelectRead))
        {
            Receive();
        }

        while (_posted.TryDequeue(out Action<long>? action))
        {
            action(Now());
        }

        foreach (QuicConnection connection in Endpoint.Connections.ToArray())
        {
            if (connection.NextTimeout <= Now())
            {
                connection.OnTimeout(Now());
            }

            Send(connection);
            if (connection.IsClosed)
            {
                Endpoint.Remove(connection);
            }
        }
    }

    private void Receive()
    {
        Span<byte> reply = stackalloc byte[EndpointReplies.MaximumLength];
        for (int i = 0; i < DatagramsOfRound && _socket.Available > 0; i++)
        {
            int count = _socket.ReceiveFrom(_buffer, SocketFlags.None, _peer);
            PathAddress from = PathAddress.FromIPv4(
                BinaryPrimitives.ReadUInt32BigEndian(_peer.Buffer.Span[4..]), BinaryPrimitives.ReadUInt16BigEndian(_peer.Buffer.Span[2..]));
            if (from == _local)
            {
                continue;
            }

            PeerPorts.AddOrUpdate(from.Port, 1, static (_, seen) => seen + 1);
            Endpoint.Receive(_buffer.AsSpan(0, count), from, _local, EcnMark.NotEct, reply, out int replyLength, Now());
            if (replyLength > 0)
            {
                Replies.Enqueue(reply[0]);
                _socket.SendTo(reply[..replyLength], SocketFlags.None, _peer);
            }
        }
    }

    private void Send(QuicConnection connection)
    {
        while (connection.Send(_buffer, SegmentsMax, out DatagramInfo info, Now()) is int length and > 0)
        {
            WriteAddress(info.Remote);
            for (int at = 0; at < length; at += info.SegmentSize)
            {
                Span<byte> datagram = _buffer.AsSpan(at, Math.Min(info.SegmentSize, length - at));
                try
                {
                    _socket.SendTo(datagram, SocketFlags.None, _peer);
                }
                catch (SocketException full) when (full.SocketErrorCode is SocketError.WouldBlock or SocketError.NoBufferSpaceAvailable)
                {
                    // It is lost, as in a network.
                }
            }
        }
    }

    private void WriteAddress(in PathAddress address)
    {
        Span<byte> bytes = stackalloc byte[PathAddress.Length];
        address.Write(bytes);
        bytes[12..16].CopyTo(_peer.Buffer.Span[4..]);
        BinaryPrimitives.WriteUInt16BigEndian(_peer.Buffer.Span[2..], address.Port);
    }
}

using Millrace.Quic.Connections;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;
using Millrace.Simulation.Tests.Runs;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>A host with one endpoint: drives its connections as a reactor would, on simulated time.</summary>
internal sealed class QuicHost(QuicRun run, ulong seed, bool isServer) : ISimulatedHost
{
    private const int DatagramsMax = 20_000;

    private readonly byte[] _buffer = new byte[64 * 1024];
    private readonly byte[] _reply = new byte[EndpointReplies.MaximumLength];
    private readonly Dictionary<QuicConnection, Timer> _timers = [];

    public TestCryptography Cryptography { get; } = new(seed);

    public BlockPool Blocks { get; } = new();

    public QuicEndpoint Endpoint { get; private set; } = null!;

    public long PausedUntil { get; set; }

    public void Start(QuicSettings settings, EndpointLimits limits, IQuicAcceptor? acceptor) =>
        Endpoint = new QuicEndpoint(settings, limits, Cryptography, Blocks, new StreamPool(Blocks), acceptor);

    public void Receive(Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn)
    {
        QuicConnection? connection = Endpoint.Receive(datagram, from, to, ecn, _reply, out int replyLength, run.Events.Now);
        if (replyLength > 0)
        {
            run.Check(replyLength <= datagram.Length, "a reply is larger than what it answers");
            Transmit(_reply.AsSpan(0, replyLength), to, from, EcnMark.NotEct);
        }

        if (connection is not null)
        {
            Pump(connection);
        }
    }

    /// <summary>Sends what there is to send, and sets the timer.</summary>
    public void Pump(QuicConnection connection)
    {
        for (int i = 0; ; i++)
        {
            long now = run.Events.Now;
            long window = connection.Recovery.Congestion.Window;
            long inFlight = connection.Recovery.Congestion.BytesInFlight;
            long exempt = ExemptBytes(connection);
            int length = connection.Send(_buffer, run.Shape.Segments, out DatagramInfo info, now);
            if (length == 0)
            {
                break;
            }

            run.Check(i < DatagramsMax, "sending does not end");
            CheckWindow(connection, window, inFlight, exempt);
            for (int offset = 0; offset < length; offset += info.SegmentSize)
            {
                int size = Math.Min(info.SegmentSize, length - offset);
                Transmit(_buffer.AsSpan(offset, size), info.Local, info.Remote, info.Ecn);
            }
        }

        if (connection.IsClosed)
        {
            Endpoint.Remove(connection);
            _timers.Remove(connection);
            return;
        }

        if (!_timers.TryGetValue(connection, out Timer? timer))
        {
            _timers[connection] = timer = new Timer(this, connection);
        }

        timer.Set();
    }

    /// <summary>Loses all state, without a word.</summary>
    public void Restart()
    {
        Endpoint.Abort();
        _timers.Clear();
    }

    private static long ExemptBytes(QuicConnection connection)
    {
        LossDetection recovery = connection.Recovery;
        long probes = recovery.ProbesPending(PacketSpace.Initial) + recovery.ProbesPending(PacketSpace.Handshake)
            + recovery.ProbesPending(PacketSpace.Application);

        // The validation of paths does not wait for the window, nor does the first packet of a handshake's space.
        return (probes + 3) * 1_500;
    }

    private void CheckWindow(QuicConnection connection, long window, long inFlight, long exempt)
    {
        long now = connection.Recovery.Congestion.BytesInFlight;
        long allowed = Math.Max(window, connection.Recovery.Congestion.Window) + exempt;
        run.Check(now <= inFlight || now <= allowed || now - inFlight <= exempt, $"{now} bytes are in flight, {allowed} are allowed");
    }

    private void Transmit(ReadOnlySpan<byte> datagram, in PathAddress local, in PathAddress remote, EcnMark ecn)
    {
        if (isServer)
        {
            run.Network.SendFromServer(remote, datagram, ecn);
        }
        else
        {
            run.Network.SendFromClient(local, datagram, ecn);
        }
    }

    /// <summary>One connection's timer; late, if its host does not run.</summary>
    private sealed class Timer(QuicHost host, QuicConnection connection) : IScheduled
    {
        private const int SpinsMax = 200;

        private long _at = long.MaxValue;
        private long _lastFired;
        private int _spins;

        public void Set()
        {
            long next = connection.NextTimeout;
            if (next < _at)
            {
                _at = Math.Max(next, host.Now);
                host.Schedule(this, _at);
            }
        }

        public void Act(int eventId)
        {
            long now = host.Now;
            if (now < _at || connection.IsClosed || !host._timers.ContainsKey(connection))
            {
                return;
            }

            if (host.PausedUntil > now)
            {
                host.Schedule(this, _at = host.PausedUntil);
                return;
            }

            _at = long.MaxValue;
            if (connection.NextTimeout <= now)
            {
                _spins = now == _lastFired ? _spins + 1 : 0;
                _lastFired = now;
                host.Check(_spins < SpinsMax, "a timer is due again and again");
                connection.OnTimeout(now);
            }

            host.Pump(connection);
        }
    }

    private long Now => run.Events.Now;

    private void Check(bool isTrue, string what) => run.Check(isTrue, what);

    private void Schedule(Timer timer, long at) => run.Events.At(at, timer, 0);
}

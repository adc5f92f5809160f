using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

/// <summary>
/// Two ends over a network that loses, delays, repeats and reorders packets, with applications that do anything at any time. Each stream's
/// bytes arrive once and in order, or it is reset; everything closes in the end, and all memory and credit returns.
/// </summary>
public class StreamsModelTests
{
    private const int StepsOfDisorder = 1_500;
    private const int StepsMax = 60_000;

    [Fact]
    public void Random_streams_over_a_bad_network_arrive_or_are_reset_and_all_memory_returns() => Run(1, 25);

    [Fact]
    [Trait("Duration", "Long")]
    public void Many_random_streams_over_a_bad_network_arrive_or_are_reset_and_all_memory_returns() => Run(1_000, 4_000);

    private static void Run(int firstSeed, int count)
    {
        for (int seed = firstSeed; seed < firstSeed + count; seed++)
        {
            try
            {
                using var world = new World(seed);
                world.Run();
            }
            catch (Exception e)
            {
                throw new InvalidOperationException($"Seed {seed}: {e.Message}", e);
            }
        }
    }

    /// <summary>A byte of a stream follows from who writes it, the stream and the offset.</summary>
    private static byte ByteAt(bool isServers, long id, long offset) => (byte)((offset * 31) + (offset >> 8) + (id * 7) + (isServers ? 101 : 0));

    private sealed class World : IDisposable
    {
        private readonly Random _random;
        private readonly End _client;
        private readonly End _server;
        private readonly int _lossPercent;

        public World(int seed)
        {
            _random = new Random(seed);
            _lossPercent = _random.Next(40);
            StreamSettings client = Settings();
            StreamSettings server = Settings();
            // With it, windows of a few bytes grow.
            const long Rtt = 20;
            _client = new End(_random, new StreamsEnd(isServer: false, client, StreamsEnd.LimitsOf(server), PoolBytes()));
            _server = new End(_random, new StreamsEnd(isServer: true, server, StreamsEnd.LimitsOf(client), PoolBytes()));
            _client.Streams.SmoothedRtt = _server.Streams.SmoothedRtt = Rtt;
        }

        public void Run()
        {
            int step = 0;
            while (step < StepsOfDisorder || !IsQuiet)
            {
                Assert.True(++step < StepsMax, $"There is no end: {_client}; {_server}");
                bool isEnding = step > StepsOfDisorder;
                _client.Act(isEnding);
                _server.Act(isEnding);
                Pass(_client, _server, step);
                Pass(_server, _client, step);
            }

            AssertSettled(_client, _server);
            AssertSettled(_server, _client);
        }

        public void Dispose()
        {
            _client.Dispose();
            _server.Dispose();
        }

        private bool IsQuiet => _client.IsQuiet && _server.IsQuiet;

        private StreamSettings Settings() => new()
        {
            ConnectionWindowBytes = _random.Next(100, 30_000),
            ConnectionWindowBytesMax = 60_000,
            StreamWindowBytes = _random.Next(1, 20_000),
            StreamWindowBytesMax = 40_000,
            BidirectionalStreamsMax = _random.Next(1, 8),
            UnidirectionalStreamsMax = _random.Next(1, 4),
            UnsentBytesMax = _random.Next(1, 20_000),
            SendBufferBytesMax = _random.Next(1, 100_000),
        };

        private long PoolBytes() => _random.Next(4) == 0 ? _random.Next(40_000) : long.MaxValue;

        private void Pass(End from, End to, int step)
        {
            from.Send(step);
            while (from.TryTakeArriving(out Sent? packet))
            {
                bool isLost = _random.Next(100) < _lossPercent;
                if (!isLost)
                {
                    Assert.Null(to.Receive(packet!));
                    if (_random.Next(10) == 0)
                    {
                        Assert.Null(to.Receive(packet!));
                    }
                }

                from.Resolve(packet!, isLost);
            }
        }

        private static void AssertSettled(End end, End peer)
        {
            Assert.Equal((0, 0), (end.Streams.Count, end.LentBlocks));
            Assert.Equal(end.Streams.Flow.Receive.Received, end.Streams.Flow.Receive.Consumed);
            Assert.Equal(end.Streams.Flow.Receive.Received, peer.Streams.Flow.Send.Used);
        }
    }

    private sealed class End(Random random, StreamsEnd end) : IDisposable
    {
        private readonly List<(Sent Packet, int At)> _network = [];
        private readonly Dictionary<long, Ledger> _ledgers = [];
        private readonly List<long> _open = [];
        private int _now;

        public ConnectionStreams Streams => end.Streams;

        public int LentBlocks => end.Blocks.LentBlocks;

        public bool IsQuiet => _network.Count == 0 && Streams.Count == 0 && !Streams.HasFrames && !Streams.HasEvents;

        public void Act(bool isEnding)
        {
            if (!isEnding && random.Next(4) == 0 && Streams.TryOpen(random.Next(3) > 0, out QuicStream? opened))
            {
                Add(opened!);
            }

            while (Streams.TryTakeEvent(out QuicStream? stream, out StreamEvents events))
            {
                Take(stream!, events);
            }

            for (int i = _open.Count - 1; i >= 0; i--)
            {
                if (isEnding || random.Next(3) == 0)
                {
                    Act(Streams.Find(_open[i])!, _ledgers[_open[i]], isEnding);
                }
            }
        }

        public void Send(int now)
        {
            _now = now;
            for (int i = 0; i < 3 && Streams.HasFrames; i++)
            {
                Sent packet = end.Send(random.Next(60, StreamsEnd.PacketBytes), now);
                if (packet.Bytes.Length > 0)
                {
                    _network.Add((packet, now + random.Next(1, 10)));
                }
            }
        }

        public bool TryTakeArriving(out Sent? packet)
        {
            int index = _network.FindIndex(entry => entry.At <= _now);
            packet = index < 0 ? null : _network[index].Packet;
            if (index >= 0)
            {
                _network.RemoveAt(index);
            }

            return index >= 0;
        }

        public QuicError? Receive(Sent packet) => end.Receive(packet.Bytes);

        public void Resolve(Sent packet, bool isLost)
        {
            // A packet that arrived may be declared lost before its acknowledgment comes.
            if (isLost || random.Next(10) == 0)
            {
                end.Lose(packet);
            }

            if (!isLost)
            {
                end.Acknowledge(packet);
            }
        }

        public void Dispose() => end.Dispose();

        public override string ToString() => $"streams {string.Join(' ', _open)}, packets {_network.Count}, frames {Streams.HasFrames}";

        private void Add(QuicStream stream)
        {
            _ledgers.Add(stream.Id, new Ledger(random.Next(5) == 0 ? 0 : random.Next(40_000)));
            _open.Add(stream.Id);
            if (random.Next(3) == 0)
            {
                stream.SetPriority(random.Next(8), random.Next(2) == 0);
            }
        }

        private void Take(QuicStream stream, StreamEvents events)
        {
            if ((events & StreamEvents.Opened) != 0)
            {
                Add(stream);
            }

            Ledger ledger = _ledgers[stream.Id];
            if ((events & StreamEvents.Writable) != 0)
            {
                Assert.True(ledger.IsWaiting, "A writer that does not wait was woken.");
                ledger.IsWaiting = false;
            }

            if ((events & StreamEvents.StopSending) != 0)
            {
                ledger.IsWaiting = false;
            }

            if ((events & StreamEvents.Closed) != 0)
            {
                Assert.True(_open.Remove(stream.Id));
                Assert.True(stream.Receive.State != ReceiveState.DataRead || stream.Receive.IsStopped || stream.Receive.Buffer.Start == ledger.Read);
            }
        }

        private void Act(QuicStream stream, Ledger ledger, bool isEnding)
        {
            if (stream.Send.IsWritable && !ledger.IsWaiting)
            {
                Write(stream, ledger);
            }

            if (isEnding || random.Next(4) > 0)
            {
                Read(stream, ledger);
            }

            // At the end each stream must come to its own end.
            if (isEnding)
            {
                return;
            }

            if (random.Next(400) == 0)
            {
                stream.Abort(random.Next(1000));
                ledger.IsWaiting = false;
            }

            if (random.Next(400) == 0)
            {
                stream.StopSending(random.Next(1000));
            }
        }

        private void Write(QuicStream stream, Ledger ledger)
        {
            byte[] bytes = new byte[Math.Min(ledger.Total - ledger.Written, random.Next(1, 9_000))];
            for (int i = 0; i < bytes.Length; i++)
            {
                bytes[i] = ByteAt(end.IsServer, stream.Id, ledger.Written + i);
            }

            int count = stream.Write(bytes);
            ledger.Written += count;
            ledger.IsWaiting = count < bytes.Length;
            if (ledger.Written == ledger.Total)
            {
                stream.Finish();
            }
        }

        private void Read(QuicStream stream, Ledger ledger)
        {
            while (stream.TryRead(out ReadOnlySpan<byte> bytes))
            {
                int count = random.Next(1, bytes.Length + 1);
                for (int i = 0; i < count; i++)
                {
                    Assert.True(bytes[i] == ByteAt(!end.IsServer, stream.Id, ledger.Read + i), "A byte differs.");
                }

                ledger.Read += count;
                stream.Consume(count);
            }
        }
    }

    /// <summary>What the application of one end knows of a stream.</summary>
    private sealed class Ledger(int total)
    {
        public int Total => total;

        public int Written { get; set; }

        public long Read { get; set; }

        public bool IsWaiting { get; set; }
    }
}

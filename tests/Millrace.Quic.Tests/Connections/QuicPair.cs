using System.Diagnostics.CodeAnalysis;
using Millrace.Quic.Connections;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>A client's and a server's endpoint in memory, on a scripted clock: datagrams take a millisecond, unless a test drops them.</summary>
internal sealed class QuicPair : IQuicAcceptor, IDisposable
{
    public const long Millisecond = 1_000_000;

    public static readonly PathAddress ServerAddress = PathAddress.FromIPv4(0x0A000001, 443);
    public static readonly PathAddress ClientAddress = PathAddress.FromIPv4(0x0A000002, 5000);

    private readonly byte[] _buffer = new byte[64 * 1024];
    private readonly byte[] _reply = new byte[EndpointReplies.MaximumLength];

    public QuicPair(QuicSettings? settings = null, EndpointLimits? limits = null)
    {
        Settings = settings ?? QuicSettings.Default;
        Server = new QuicEndpoint(
            Settings, limits ?? new EndpointLimits(), ServerCryptography, ServerBlocks, new StreamPool(ServerBlocks), this);
        Client = new QuicEndpoint(
            Settings, new EndpointLimits(), ClientCryptography, ClientBlocks, new StreamPool(ClientBlocks), acceptor: null);
    }

    public QuicSettings Settings { get; }

    public long Now { get; set; } = 1_000 * Millisecond;

    public TestCryptography ServerCryptography { get; } = new(1);

    public TestCryptography ClientCryptography { get; } = new(2);

    public BlockPool ServerBlocks { get; } = new();

    public BlockPool ClientBlocks { get; } = new();

    public QuicEndpoint Server { get; }

    public QuicEndpoint Client { get; }

    public PairHandler ServerHandler { get; private set; } = new();

    public PairHandler ClientHandler { get; private set; } = new();

    public QuicConnection? ServerConnection { get; private set; }

    public QuicConnection? ClientConnection { get; private set; }

    /// <summary>Where datagrams of the client seem to come from.</summary>
    public PathAddress ClientSource { get; set; } = ClientAddress;

    /// <summary>Whether a datagram is dropped: from the client, and its bytes.</summary>
    public Func<bool, byte[], bool> Drops { get; set; } = static (_, _) => false;

    /// <summary>Datagrams on their way: from the client, when it arrives, its bytes, to which address.</summary>
    public List<(bool FromClient, long At, byte[] Bytes, PathAddress Source, PathAddress Target, EcnMark Ecn)> Flights { get; } = [];

    /// <summary>All datagrams that were sent, with their direction.</summary>
    public List<(bool FromClient, byte[] Bytes)> Sent { get; } = [];

    public bool Accepts { get; set; } = true;

    public byte FailWith { get; set; }

    /// <summary>Both ends have the keys of what they receive before their handshakes are complete.</summary>
    public bool HasEarlyKeys { get; set; }

    /// <summary>Bytes of the server's Certificate message.</summary>
    public int CertificateLength { get; set; } = 2600;

    /// <summary>What an end says instead of its transport parameters: whether it is the client's, and what they are.</summary>
    public Action<bool, TransportParameters>? ChangeParameters { get; set; }

    /// <summary>The limits of the keys of both ends, and what was done with them.</summary>
    public ProtectorCounts Protectors { get; } = new();

    public QuicConnection Connect(byte[]? token = null, uint version = QuicVersion.Version1, string protocol = "h3")
    {
        ClientHandler = new PairHandler();
        TestHandshakeOptions options = new()
        {
            Seed = 3,
            Protocol = protocol,
            InstallsReceivingKeysEarly = HasEarlyKeys,
            Protectors = Protectors,
            ChangeParameters = Changed(fromClient: true),
        };
        TestHandshake handshake = new(options, isServer: false);
        ClientConnection = Client.Connect(ClientAddress, ServerAddress, handshake, ClientHandler, version, token, false, Now);
        Pump();
        return ClientConnection;
    }

    /// <summary>A pair whose handshake is complete and confirmed on both sides.</summary>
    public static QuicPair Connected(QuicSettings? settings = null)
    {
        QuicPair pair = new(settings);
        pair.Connect();
        pair.Run(200);
        Assert.True(pair.ClientConnection!.Handshake.IsConfirmed);
        return pair;
    }

    /// <summary>Lets time pass, and all that happens in it.</summary>
    public void Run(long milliseconds)
    {
        long end = Now + (milliseconds * Millisecond);
        for (int i = 0; i < 100_000; i++)
        {
            Pump();
            long next = Math.Min(NextTimeout(ClientConnection), NextTimeout(ServerConnection));
            foreach (var flight in Flights)
            {
                next = Math.Min(next, flight.At);
            }

            if (next > end)
            {
                Now = end;
                return;
            }

            Now = Math.Max(Now, next);
            Deliver();
            Time(ClientConnection);
            Time(ServerConnection);
        }

        Assert.Fail("Something is due again and again.");
    }

    public void Pump()
    {
        Pump(ClientConnection, isClient: true);
        Pump(ServerConnection, isClient: false);
    }

    public void Send(bool fromClient, byte[] bytes, PathAddress source, PathAddress target, EcnMark ecn = EcnMark.NotEct)
    {
        Sent.Add((fromClient, bytes));
        if (!Drops(fromClient, bytes))
        {
            Flights.Add((fromClient, Now + Millisecond, bytes, source, target, ecn));
        }
    }

    /// <summary>Has an end send a packet that it would not send by itself: these frames, and these bits of its first byte too.</summary>
    public void Inject(bool fromClient, PacketKind kind, ReadOnlySpan<byte> frames, byte bits = 0, int padTo = 0)
    {
        QuicConnection sender = (fromClient ? ClientConnection : ServerConnection)!;
        NumberSpace space = sender.SpaceOf(kind);
        long number = sender.Recovery[space.Id].NextNumber;
        byte[] buffer = new byte[1500];
        Assert.True(sender.PeerIds.TryGet(sender.Paths.Active.PeerIdSequence, out ConnectionId destination));
        Assert.True(kind == PacketKind.OneRtt
            ? PacketWriter.TryBeginShort(buffer, destination, false, sender.Keys.Phase, number, 4, out PacketWriter writer)
            : PacketWriter.TryBeginLong(buffer, kind, sender.Version, destination, sender.LocalIds.First, default, number, 4, out writer));
        buffer[0] |= bits;
        frames.CopyTo(writer.Frames);
        int length = writer.Finish(kind == PacketKind.OneRtt ? sender.Keys.Sending : space.Sending!, frames.Length, padTo);
        SentPacketTraits traits = frames[0] == (byte)FrameType.Ack ? SentPacketTraits.None : SentPacketTraits.AckEliciting | SentPacketTraits.InFlight;
        SentPacket sent = new() { Number = number, TimeSent = Now, Size = length, Traits = traits };
        sender.Recovery.OnPacketSent(space.Id, sent, new SentFrameList());
        (PathAddress source, PathAddress target) = fromClient ? (ClientSource, ServerAddress) : (ServerAddress, ClientAddress);
        Send(fromClient, buffer[..length], source, target);
    }

    public bool TryAccept(
        in PathAddress client, in PathAddress local, [NotNullWhen(true)] out QuicHandshake? handshake,
        [NotNullWhen(true)] out IQuicConnectionHandler? handler)
    {
        ServerHandler = new PairHandler();
        TestHandshakeOptions options = new()
        {
            Seed = 4,
            FailWith = FailWith,
            InstallsReceivingKeysEarly = HasEarlyKeys,
            CertificateLength = CertificateLength,
            Protectors = Protectors,
            ChangeParameters = Changed(fromClient: false),
        };
        handshake = new TestHandshake(options, isServer: true);
        handler = ServerHandler;
        return Accepts;
    }

    public void Dispose()
    {
        Client.Abort();
        Server.Abort();
        ServerBlocks.Dispose();
        ClientBlocks.Dispose();
    }

    private Func<byte[], byte[]>? Changed(bool fromClient) => ChangeParameters is not { } change ? null : encoded =>
    {
        Assert.True(TransportParameters.TryDecode(encoded, !fromClient, out TransportParameters parameters, out _));
        change(fromClient, parameters);
        byte[] buffer = new byte[TransportParametersWriter.MaximumLength];
        return buffer[..parameters.Encode(buffer, 5)];
    };

    private static long NextTimeout(QuicConnection? connection) => connection?.NextTimeout ?? long.MaxValue;

    private void Time(QuicConnection? connection)
    {
        if (connection is not null && connection.NextTimeout <= Now)
        {
            connection.OnTimeout(Now);
        }
    }

    private void Deliver()
    {
        for (int i = 0; i < Flights.Count;)
        {
            var flight = Flights[i];
            if (flight.At > Now)
            {
                i++;
                continue;
            }

            Flights.RemoveAt(i);
            QuicEndpoint endpoint = flight.FromClient ? Server : Client;
            QuicConnection? connection = endpoint.Receive(
                flight.Bytes, flight.Source, flight.Target, flight.Ecn, _reply, out int replyLength, Now);
            if (flight.FromClient && connection is not null)
            {
                ServerConnection = connection;
            }

            if (replyLength > 0)
            {
                Send(!flight.FromClient, _reply[..replyLength], flight.Target, flight.FromClient ? ClientAddress : flight.Source);
            }

            Pump();
        }
    }

    private void Pump(QuicConnection? connection, bool isClient)
    {
        while (connection is not null)
        {
            int length = connection.Send(_buffer, 8, out DatagramInfo info, Now);
            if (length == 0)
            {
                break;
            }

            for (int offset = 0; offset < length; offset += info.SegmentSize)
            {
                byte[] bytes = _buffer.AsSpan(offset, Math.Min(info.SegmentSize, length - offset)).ToArray();
                PathAddress source = isClient && info.Local == ClientAddress ? ClientSource : info.Local;
                PathAddress target = !isClient && info.Remote == ClientSource ? ClientAddress : info.Remote;
                Send(isClient, bytes, source, target, info.Ecn);
            }
        }

        if (connection is { IsClosed: true })
        {
            (isClient ? Client : Server).Remove(connection);
        }
    }
}

/// <summary>A layer above that notes what it is told, and collects what streams bring.</summary>
internal sealed class PairHandler : IQuicConnectionHandler
{
    public bool IsComplete { get; private set; }

    public CloseReason? Reason { get; private set; }

    public byte[]? Token { get; private set; }

    public List<byte> Received { get; } = [];

    public List<(long Id, StreamEvents Events)> Events { get; } = [];

    /// <summary>Whether what arrives is sent back.</summary>
    public bool Echoes { get; set; }

    /// <summary>Only counts what streams bring.</summary>
    public bool Discards { get; set; }

    public long Count { get; private set; }

    public void OnHandshakeComplete(QuicConnection connection) => IsComplete = true;

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (!Discards)
        {
            Events.Add((stream.Id, events));
        }

        while (stream.IsOpen && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            Count += bytes.Length;
            if (!Discards)
            {
                Received.AddRange(bytes);
            }

            stream.Consume(bytes.Length);
        }

        if (Echoes && stream.IsOpen && stream.IsReadToEnd)
        {
            stream.Write([.. Received]);
            stream.Finish();
        }
    }

    public void OnStreamsAvailable(QuicConnection connection)
    {
    }

    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token) => Token = token.ToArray();

    public void OnClosed(QuicConnection connection, in CloseReason reason) => Reason = reason;
}

using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>
/// One QUIC connection, of a client or a server (RFC 9000). A facade over members with one duty each; it reads no clock and sends
/// nothing by itself: its owner gives it datagrams and the time, calls <see cref="OnTimeout"/> at <see cref="NextTimeout"/>,
/// and after each call into it or into a stream calls <see cref="Send"/> until that gives 0. Errors of the peer close it. When
/// <see cref="IsClosed"/>, it holds nothing any more. One thread.
/// </summary>
internal sealed class QuicConnection
{
    /// <summary>Probe timeouts in a row after which the path may be a black hole for large datagrams.</summary>
    private const int SilentTimeouts = 2;

    /// <summary>Bytes of the peer's reason that are kept.</summary>
    private const int PhraseMaximum = 255;

    private readonly ConnectionStart _start;
    private readonly NumberSpace[] _spaces;
    private readonly DatagramReceiver _receiver;
    private readonly DatagramSender _sender;
    private readonly ConnectionNotifier _notifier;
    private readonly PathMigration _migration;
    private readonly long _startedAt;
    private bool _isReleased;

    public QuicConnection(
        ConnectionContext context, in ConnectionStart start, QuicHandshake handshake, IQuicConnectionHandler handler, long now)
    {
        QuicSettings settings = context.Settings;
        Context = context;
        _start = start;
        _startedAt = now;
        Version = start.Version;
        InitialDestinationId = start.InitialDestinationId;
        RetrySourceId = start.RetrySourceId;
        Token = start.Token;
        PeerFirstId = start.IsServer ? start.PeerId : null;
        _spaces =
        [
            new NumberSpace(PacketSpace.Initial, context.Blocks),
            new NumberSpace(PacketSpace.Handshake, context.Blocks),
            new NumberSpace(PacketSpace.Application, context.Blocks),
        ];
        Trace = settings.CreateTrace?.Invoke(this);
        _spaces[2].Received.MaximumAckDelay = settings.MaximumAckDelay;
        ControlFrameBudget budget = new();
        LocalIds = new LocalConnectionIds(this, context.Ids);
        PeerIds = new PeerConnectionIds(this, context.Ids, start.IsServer ? start.PeerId : start.InitialDestinationId);
        Paths = new PathTable(start.Local, start.Remote, !start.IsServer || start.IsAddressValidated, settings.MaximumDatagramSize);
        Paths.Active.PeerIdSequence = 0;
        Idle = new IdleTimer(settings.IdleTimeout, settings.KeepAlive, settings.HandshakeTimeout, now);
        Keys = new KeyPhases(settings.KeyUpdateAfter);
        Streams = new ConnectionStreams(start.IsServer, settings.Streams, context.Streams);
        Results = new SentFrameResults(this, budget);
        Recovery = new LossDetection(!start.IsServer, RecoveryOptionsOf(context), Results, Results);
        Handshake = new HandshakeDriver(this, handshake);
        _notifier = new ConnectionNotifier(this, handler);
        _migration = new PathMigration(this, budget);
        _receiver = new DatagramReceiver(this, new FrameReceiver(this, budget), start.IsServer ? null : new ClientNegotiation(this));
        _sender = new DatagramSender(this, new PacketAssembler(this));
        InstallInitialKeys();
        handshake.Version = Version;
        QuicError? error = Handshake.Start(ConnectionParameters.Make(settings, start, LocalIds));
        if (error is not null)
        {
            Fail(error, now);
        }
    }

    public bool IsServer => _start.IsServer;

    public uint Version { get; }

    public ConnectionStreams Streams { get; }

    public HandshakeDriver Handshake { get; }

    /// <summary>The layer's above.</summary>
    public object? Tag { get; set; }

    /// <summary>The endpoint's: its handshake does not count among those in progress any more.</summary>
    public bool IsHandshakeCounted { get; set; }

    /// <summary>The endpoint's: it counts among those of its client's address.</summary>
    public bool IsAddressCounted { get; set; }

    /// <summary>Packets of this connection were received; a server forgets one whose first datagram had none.</summary>
    public bool HasOpened => _receiver.HasOpened;

    /// <summary>The end was reported, or is about to be: streams must not be used.</summary>
    public bool IsEnding => !Ending.IsOpen;

    /// <summary>Nothing is left: the endpoint forgets it.</summary>
    public bool IsClosed => Ending.Stage == CloseStage.Closed;

    public LossDetection Recovery { get; }

    public PathTable Paths { get; }

    public KeyPhases Keys { get; }

    /// <summary>Sees the packets; null: nothing does.</summary>
    internal IConnectionTrace? Trace { get; }

    internal ConnectionContext Context { get; }

    internal LocalConnectionIds LocalIds { get; }

    internal PeerConnectionIds PeerIds { get; }

    internal IdleTimer Idle { get; }

    internal CloseState Ending { get; } = new();

    internal SentFrameResults Results { get; }

    internal PendingFrames Pending { get; } = new();

    internal ReadOnlySpan<NumberSpace> Spaces => _spaces;

    /// <summary>The token of a client's Initial packets.</summary>
    internal byte[]? Token { get; private set; }

    /// <summary>The destination id of the client's Initial packets; that of the Retry packet after one.</summary>
    internal ConnectionId InitialDestinationId { get; private set; }

    internal ConnectionId OriginalDestinationId => _start.OriginalDestinationId;

    internal ConnectionId? RetrySourceId { get; private set; }

    /// <summary>The id that the peer chose in its first packet; null before that.</summary>
    internal ConnectionId? PeerFirstId { get; private set; }

    internal bool IsAfterVersionNegotiation => _start.IsAfterVersionNegotiation;

    /// <summary>What CONNECTION_CLOSE says.</summary>
    internal QuicError? CloseError { get; private set; }

    internal bool CanReceive => Ending.IsOpen;

    internal long ProbeTimeout => Recovery.PtoPeriod(PacketSpace.Application);

    /// <summary>When <see cref="OnTimeout"/> is to be called; <see cref="QuicClock.Never"/>: not before something else happens.</summary>
    public long NextTimeout
    {
        get
        {
            if (!Ending.IsOpen)
            {
                return Ending.NextTimeout;
            }

            NetworkPath path = Paths.Active;
            long next = Math.Min(Math.Min(Idle.Deadline(ProbeTimeout), Recovery.NextTimeout), Keys.NextTimeout);
            next = Math.Min(next, Math.Min(Paths.NextTimeout, path.Mtu.NextTimeout));
            if (!path.IsBlocked && PeerIds.TryGetAny(out _))
            {
                long ack = Keys.CanSend ? _spaces[2].Received.AckDeadline : QuicClock.Never;
                long keepAlive = Pending.Ping ? QuicClock.Never : Idle.KeepAliveAt;
                next = Math.Min(next, Math.Min(_sender.PacedUntil, Math.Min(ack, keepAlive)));
            }

            return next;
        }
    }

    /// <summary>A datagram arrived. It is changed.</summary>
    public void Receive(Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn, long now)
    {
        if (!Ending.IsOpen)
        {
            if (_receiver.IsStatelessReset(datagram))
            {
                Ending.EnterDraining(ProbeTimeout, now);
            }

            Ending.OnReceived(datagram.Length);
            return;
        }

        Results.SetTime(now);
        _receiver.Receive(datagram, from, to, ecn, now);
        _notifier.Notify();
    }

    /// <summary>The time of <see cref="NextTimeout"/> has come, perhaps.</summary>
    public void OnTimeout(long now)
    {
        if (!Ending.IsOpen)
        {
            Ending.OnTimeout(now);
            Release();
            return;
        }

        if (now >= Idle.Deadline(ProbeTimeout))
        {
            End(new CloseReason(CloseSource.Timeout, false, 0, 0, Handshake.IsComplete ? "Idle" : "The handshake took too long"));
            return;
        }

        Results.SetTime(now);
        Recovery.OnTimeout(now);
        if (Recovery.PtoCount >= SilentTimeouts && Paths.Active.Mtu.OnSilence(now))
        {
            OnDatagramSizeChanged();
        }

        Keys.OnTimeout(now);
        _migration.OnTimeout(now);
        Paths.Active.Mtu.OnTimeout(now);
        if (now >= Idle.KeepAliveAt && !Pending.Ping)
        {
            Pending.Ping = true;
            Streams.RepeatBlocked();
        }

        _notifier.Notify();
    }

    /// <summary>
    /// Writes what is to be sent now: at most <paramref name="segments"/> datagrams of equal size, all to the same path. Returns their
    /// length together; 0: nothing.
    /// </summary>
    public int Send(Span<byte> buffer, int segments, out DatagramInfo info, long now)
    {
        _notifier.Notify();
        int length = _sender.Send(buffer, segments, out info, now);
        _notifier.Notify();
        return length;
    }

    /// <summary>Ends the connection with a code of the application; all streams end with it.</summary>
    public void Close(long code, string reason, long now)
    {
        if (Ending.IsOpen)
        {
            CloseError = QuicError.OfApplication(code, reason);
            Ending.EnterClosing(ProbeTimeout, now);
            _notifier.SetReason(new CloseReason(CloseSource.Local, true, code, 0, reason));
            _notifier.Notify();
        }
    }

    /// <summary>Updates the keys of 1-RTT packets, if that is possible now (RFC 9001, section 6.1).</summary>
    public bool TryUpdateKeys() => Keys.TryUpdate(Handshake.IsConfirmed);

    /// <summary>A client moves to another local address, once that has proved to work.</summary>
    public bool TryMigrate(in PathAddress local, long now) => _migration.TryMigrate(local, now);

    internal NumberSpace SpaceOf(PacketSpace space) => _spaces[(int)space];

    internal NumberSpace SpaceOf(EncryptionLevel level) => _spaces[(int)level];

    internal NumberSpace SpaceOf(PacketKind kind) => _spaces[kind switch
    {
        PacketKind.Initial => 0,
        PacketKind.Handshake => 1,
        _ => 2,
    }];

    /// <summary>Closes with an error that the peer made, or this end.</summary>
    internal void Fail(QuicError error, long now)
    {
        if (Ending.IsOpen)
        {
            CloseError = error;
            Ending.EnterClosing(ProbeTimeout, now);
            _notifier.SetReason(new CloseReason(CloseSource.LocalError, false, error.Code, (long)error.FrameType, error.Reason));
        }
    }

    /// <summary>The handshake has reported outside of <see cref="Receive"/>: it waited for the layer above, for a certificate.</summary>
    internal void OnHandshakeResumed(long now)
    {
        if (Handshake.TakeError() is { } error)
        {
            Fail(error, now);
        }

        _notifier.Notify();
    }

    internal void OnPeerClosed(in Frame frame, long now)
    {
        bool isApplication = frame.Type == FrameType.ConnectionCloseApplication;
        ReadOnlySpan<byte> phrase = frame.Data[..Math.Min(frame.Data.Length, PhraseMaximum)];
        Ending.EnterDraining(ProbeTimeout, now);
        _notifier.SetReason(new CloseReason(
            CloseSource.Peer, isApplication, frame.ErrorCode, frame.CauseFrameType, System.Text.Encoding.UTF8.GetString(phrase)));
    }

    internal void OnStatelessReset(long now)
    {
        Ending.EnterDraining(ProbeTimeout, now);
        _notifier.SetReason(new CloseReason(CloseSource.StatelessReset, false, 0, 0, ""));
    }

    internal void OnPathFailed() => End(new CloseReason(CloseSource.NoPath, false, (long)TransportErrorCode.NoViablePath, 0, ""));

    /// <summary>A client: the server speaks this version, or 0: none that this end speaks.</summary>
    internal void OnVersionNegotiated(uint version) => End(new CloseReason(CloseSource.NoVersion, false, version, 0, ""));

    /// <summary>A client: the server wants to see that the address is this end's (RFC 9000, section 17.2.5.3).</summary>
    internal void OnRetry(in ConnectionId source, byte[] token, long now)
    {
        RetrySourceId = source;
        InitialDestinationId = source;
        Token = token;
        PeerIds.ReplaceFirst(source);
        InstallInitialKeys();
        Recovery.OnRetry(_startedAt, now);
    }

    /// <summary>A client: the first packet of the server has its id.</summary>
    internal void SetPeerId(in ConnectionId id)
    {
        PeerFirstId = id;
        PeerIds.ReplaceFirst(id);
    }

    /// <summary>A server: the client answered to what was sent to its address.</summary>
    internal void OnAddressValidated(long now)
    {
        if (!_spaces[0].IsDiscarded)
        {
            Paths.Active.IsValidated = true;
            Discard(_spaces[0], now);
            UpdateAmplification();
        }
    }

    internal void ApplyPeerParameters(TransportParameters parameters)
    {
        Idle.ApplyPeerTimeout(parameters.MaxIdleTimeoutMs * QuicClock.Millisecond);
        Recovery.PeerMaximumAckDelay = parameters.MaxAckDelayMs * QuicClock.Millisecond;
        Paths.LimitDatagrams((int)Math.Min(parameters.MaxUdpPayloadSize, int.MaxValue));
        Streams.ApplyPeerLimits(ConnectionParameters.StreamLimits(parameters));
        LocalIds.SetPeerLimit(parameters.ActiveConnectionIdLimit);
        if (parameters.StatelessResetToken is { } token)
        {
            PeerIds.SetFirstToken(System.Buffers.Binary.BinaryPrimitives.ReadUInt128BigEndian(token));
        }
    }

    internal QuicError? CheckVersion(TransportParameters parameters) =>
        ConnectionParameters.CheckVersion(parameters, _start, Context.Settings);

    internal void OnHandshakeComplete()
    {
        Idle.OnHandshakeComplete();
        _notifier.OnHandshakeComplete();
    }

    internal void OnHandshakeConfirmed(long now)
    {
        Recovery.IsHandshakeConfirmed = true;
        Pending.HandshakeDone = IsServer;
        Pending.NewToken = IsServer && Context.Settings.SendsNewToken;
        Discard(_spaces[0], now);
        Discard(_spaces[1], now);
        Paths.Active.Mtu.Enable();
    }

    internal void OnNewToken(ReadOnlySpan<byte> token) => _notifier.OnNewToken(token);

    internal void OnAcknowledged(PacketSpace space)
    {
        Results.ReportAcked();
        if (space == PacketSpace.Application)
        {
            Keys.OnAcknowledged(Recovery[space].LargestAcknowledged);
        }

        Streams.SmoothedRtt = Recovery.Rtt.Smoothed;
        Trace?.OnAcknowledged(Recovery);
    }

    internal NetworkPath? AddPath(in ReceivedDatagram received) => _migration.AddPath(received);

    internal void OnPeerMigrated(NetworkPath path, long now) => _migration.OnPeerMigrated(path, now);

    internal void OnPathResponse(ulong data, long now) => _migration.OnResponse(data, now);

    internal bool TryUsePeerId(NetworkPath path) => _migration.TryUsePeerId(path);

    internal void OnDatagramSizeChanged() => Recovery.Congestion.SetMaximumDatagramSize(Paths.Active.Mtu.Size);

    internal void UpdateAmplification() => Recovery.IsAmplificationLimited = Paths.Active.IsLimited;

    /// <summary>Before a packet is sealed: keys are updated in time, or the connection ends.</summary>
    internal void PrepareKeys(long now)
    {
        if (Keys.IsSendingExhausted)
        {
            Fail(new QuicError(TransportErrorCode.AeadLimitReached, "Too many packets were sent without an update of keys"), now);
        }
        else
        {
            Keys.UpdateIfDue(Handshake.IsConfirmed);
        }
    }

    internal void OnDatagramSent(long now)
    {
        if (!IsServer && !_spaces[0].IsDiscarded && Recovery[PacketSpace.Handshake].NextNumber > 0)
        {
            // The server has the client's Handshake packet, or will: Initial packets are not needed (RFC 9001, section 4.9.1).
            Discard(_spaces[0], now);
        }
    }

    /// <summary>Gives everything back: when the connection is closed, or its endpoint ends.</summary>
    internal void Release()
    {
        if (_isReleased || Ending.Stage != CloseStage.Closed)
        {
            return;
        }

        _isReleased = true;
        DisposeStreams();
        Keys.Dispose();
        Handshake.Dispose();
        PeerIds.Clear();
        LocalIds.RetireAll();
        foreach (NumberSpace space in _spaces)
        {
            space.Dispose();
        }
    }

    /// <summary>What data needs is given back as soon as the connection ends.</summary>
    internal void DisposeStreams()
    {
        Streams.Dispose();
        foreach (NumberSpace space in _spaces)
        {
            space.Crypto.Dispose();
        }
    }

    /// <summary>Ends the connection at once: nothing is sent, and the peer is not expected to send.</summary>
    internal void End(in CloseReason reason)
    {
        Ending.End();
        _notifier.SetReason(reason);
        _notifier.Notify();
        Release();
    }

    private static RecoveryOptions RecoveryOptionsOf(ConnectionContext context)
    {
        Span<byte> seed = stackalloc byte[sizeof(ulong)];
        context.Cryptography.FillRandom(seed);
        return new RecoveryOptions
        {
            Algorithm = context.Settings.Congestion,
            UsesEcn = context.Settings.UsesEcn,
            SkipSeed = BitConverter.ToUInt64(seed) | 1,
        };
    }

    private void InstallInitialKeys()
    {
        ConnectionId id = InitialDestinationId;
        _spaces[0].ReplaceKeys(
            Context.Cryptography.CreateInitialProtector(Version, id.AsSpan, IsServer),
            Context.Cryptography.CreateInitialProtector(Version, id.AsSpan, !IsServer));
    }

    private void Discard(NumberSpace space, long now)
    {
        if (!space.IsDiscarded)
        {
            space.Discard();
            Recovery.DiscardSpace(space.Id, now);
        }
    }
}

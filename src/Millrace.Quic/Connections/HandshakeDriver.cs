using System.Buffers.Binary;
using Millrace.Quic.Frames;
using Millrace.Quic.Parameters;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Runs the TLS handshake over the CRYPTO streams of its connection, and takes what it gives: messages, keys and the peer's transport
/// parameters, which it checks (RFC 9000, section 7; RFC 9001, section 4). It owns the handshake. Errors close the connection.
/// </summary>
internal sealed class HandshakeDriver(QuicConnection connection, QuicHandshake handshake) : IHandshakeSink, IDisposable
{
    /// <summary>What is done only after the handshake has returned, since it frees what the handshake reads.</summary>
    private bool _isConfirmDue;

    private QuicError? _error;

    /// <summary>The peer's Finished was verified.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>Both ends are known to be complete (RFC 9001, section 4.1.2).</summary>
    public bool IsConfirmed { get; private set; }

    public TransportParameters? PeerParameters { get; private set; }

    public ReadOnlySpan<byte> ApplicationProtocol => handshake.ApplicationProtocol;

    /// <summary>The level whose messages TLS takes now.</summary>
    private EncryptionLevel ReceivingLevel => IsComplete ? EncryptionLevel.OneRtt
        : connection.SpaceOf(EncryptionLevel.Handshake).Receiving is null ? EncryptionLevel.Initial
        : EncryptionLevel.Handshake;

    public QuicError? Start(TransportParameters local)
    {
        Span<byte> encoded = stackalloc byte[TransportParametersWriter.MaximumLength];
        Span<byte> grease = stackalloc byte[sizeof(ulong)];
        connection.Context.Cryptography.FillRandom(grease);
        int length = local.Encode(encoded, BinaryPrimitives.ReadUInt64LittleEndian(grease));
        handshake.Start(encoded[..length], this);
        return TakeError();
    }

    /// <summary>Takes a CRYPTO frame, and what it makes readable.</summary>
    public QuicError? OnCrypto(NumberSpace space, long offset, ReadOnlySpan<byte> data, long now)
    {
        QuicError? error = space.Crypto.Receive(offset, data);
        EncryptionLevel level = LevelOf(space.Id);
        while (error is null && level >= ReceivingLevel && space.Crypto.TryRead(out ReadOnlySpan<byte> bytes))
        {
            handshake.Receive(level, bytes, this);
            space.Crypto.Consume(bytes.Length);
            error = TakeError();
        }

        if (error is null && level < ReceivingLevel && space.Crypto.HasUnread)
        {
            // TLS has taken the last bytes of this level (RFC 9001, section 4.1.3).
            error = new QuicError(TransportErrorCode.ProtocolViolation, "CRYPTO data beyond the end of its level", FrameType.Crypto);
        }

        if (error is null && _isConfirmDue)
        {
            _isConfirmDue = false;
            Confirm(now);
        }

        return error;
    }

    /// <summary>A server is confirmed when it is complete, a client when it receives HANDSHAKE_DONE.</summary>
    public void Confirm(long now)
    {
        if (!IsConfirmed)
        {
            IsConfirmed = true;
            connection.OnHandshakeConfirmed(now);
        }
    }

    /// <summary>What the handshake has reported as an error, once.</summary>
    public QuicError? TakeError()
    {
        QuicError? error = _error;
        _error = null;
        return error;
    }

    public void Dispose() => handshake.Dispose();

    void IHandshakeSink.SendHandshake(EncryptionLevel level, ReadOnlySpan<byte> bytes) => connection.SpaceOf(level).Crypto.Write(bytes);

    void IHandshakeSink.InstallKeys(EncryptionLevel level, bool isForSending, PacketProtector protector)
    {
        if (level == EncryptionLevel.OneRtt)
        {
            if (isForSending)
            {
                connection.Keys.InstallSending(protector);
            }
            else
            {
                connection.Keys.InstallReceiving(protector);
            }

            return;
        }

        NumberSpace space = connection.SpaceOf(level);
        if (isForSending)
        {
            space.Sending = protector;
            connection.Recovery.HasHandshakeKeys |= level == EncryptionLevel.Handshake;
        }
        else
        {
            space.Receiving = protector;
        }
    }

    void IHandshakeSink.ReceiveTransportParameters(ReadOnlySpan<byte> encoded)
    {
        bool isValid = TransportParameters.TryDecode(
            encoded, !connection.IsServer, out TransportParameters parameters, out QuicError? error);
        _error ??= isValid ? Check(parameters) : error;
        if (_error is null)
        {
            PeerParameters = parameters;
            connection.ApplyPeerParameters(parameters);
        }
    }

    void IHandshakeSink.CompleteHandshake()
    {
        if (PeerParameters is null)
        {
            _error ??= QuicError.OfAlert(109, "No transport parameters");
            return;
        }

        IsComplete = true;
        _isConfirmDue = connection.IsServer;
        connection.OnHandshakeComplete();
    }

    void IHandshakeSink.FailHandshake(byte alert, string reason) => _error ??= QuicError.OfAlert(alert, reason);

    private static EncryptionLevel LevelOf(PacketSpace space) => space switch
    {
        PacketSpace.Initial => EncryptionLevel.Initial,
        PacketSpace.Handshake => EncryptionLevel.Handshake,
        _ => EncryptionLevel.OneRtt,
    };

    /// <summary>
    /// The parameters prove that nobody changed the ids of the handshake's packets (RFC 9000, section 7.3), nor the version.
    /// </summary>
    private QuicError? Check(TransportParameters parameters)
    {
        if (parameters.InitialSourceConnectionId != connection.PeerFirstId)
        {
            return ParameterError("initial_source_connection_id is not that of the packets");
        }

        if (!connection.IsServer)
        {
            if (parameters.OriginalDestinationConnectionId != connection.OriginalDestinationId)
            {
                return ParameterError("original_destination_connection_id is not that of the first packet");
            }

            if (parameters.RetrySourceConnectionId != connection.RetrySourceId)
            {
                return ParameterError("retry_source_connection_id is not that of the Retry packet");
            }

            if (parameters.PreferredAddress is { } preferred && !connection.PeerIds.TryAddPreferred(preferred))
            {
                return ParameterError("preferred_address does not fit the server's id");
            }
        }

        return connection.CheckVersion(parameters);
    }

    private static QuicError ParameterError(string reason) => new(TransportErrorCode.TransportParameterError, reason);
}

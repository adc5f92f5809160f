using System.Buffers.Binary;
using Millrace.Quic.Protection;

namespace Millrace.Tests.Shared;

/// <summary>How a <see cref="TestHandshake"/> goes. Sizes are those of TLS with an RSA certificate and an intermediate one.</summary>
internal sealed record TestHandshakeOptions
{
    /// <summary>Randoms and keys follow from it: different for each connection and end.</summary>
    public required ulong Seed { get; init; }

    /// <summary>What the client offers, or what the server selects.</summary>
    public string Protocol { get; init; } = "h3";

    /// <summary>Size of the ClientHello without transport parameters; about 1,500 with a post-quantum key share.</summary>
    public int ClientHelloLength { get; init; } = 280;

    /// <summary>Size of the server's Certificate message.</summary>
    public int CertificateLength { get; init; } = 2600;

    /// <summary>Whether a server sends a NewSessionTicket when the handshake is complete.</summary>
    public bool SendsTicket { get; init; } = true;

    /// <summary>A client gets its Handshake sending keys with the server's Finished, not with the ServerHello: OpenSSL 3.0.</summary>
    public bool InstallsSendingKeysLate { get; init; }

    /// <summary>
    /// Keys that open 1-RTT packets come as soon as they can be derived, which TLS allows: a server's with its own Finished, a client's with
    /// EncryptedExtensions.
    /// </summary>
    public bool InstallsReceivingKeysEarly { get; init; }

    /// <summary>Alert with which this end refuses the peer's first flight; 0: none.</summary>
    public byte FailWith { get; init; }

    /// <summary>What it claims to hold until it is complete.</summary>
    public int MemoryBytes { get; init; }

    public ProtectorCounts Protectors { get; init; } = new();

    /// <summary>Gives what is sent instead of this end's transport parameters; null: they are sent as they are.</summary>
    public Func<byte[], byte[]>? ChangeParameters { get; init; }
}

/// <summary>
/// A handshake for tests, in the shape of TLS 1.3: ClientHello; ServerHello, EncryptedExtensions, Certificate, CertificateVerify, Finished;
/// Finished; NewSessionTicket. Keys are installed when OpenSSL installs them. The Finished messages hold a hash of all messages, so that
/// lost, repeated and changed bytes fail the handshake.
/// </summary>
internal sealed class TestHandshake(TestHandshakeOptions options, bool isServer) : QuicHandshake
{
    public const byte UnexpectedMessage = 10;
    public const byte DecryptError = 51;
    public const byte MissingExtension = 109;
    public const byte NoApplicationProtocol = 120;

    private const byte ClientHello = 1;
    private const byte ServerHello = 2;
    private const byte NewSessionTicket = 4;
    private const byte EncryptedExtensions = 8;
    private const byte Certificate = 11;
    private const byte CertificateVerify = 15;
    private const byte Finished = 20;

    private const int MessageHeaderLength = 4;
    private const int RandomLength = 8;
    private const int FinishedLength = 32;

    private readonly List<byte> _received = [];
    private byte[] _transportParameters = [];
    private byte[] _protocol = [];
    private EncryptionLevel _level = EncryptionLevel.Initial;
    private byte _expected = isServer ? ClientHello : ServerHello;
    private ulong _secret;
    private ulong _transcript;
    private bool _hasFailed;

    public override bool IsComplete => _expected == NewSessionTicket;

    public override ReadOnlySpan<byte> ApplicationProtocol => _protocol;

    public override int MemoryBytes => IsComplete ? 0 : options.MemoryBytes;

    public bool IsDisposed { get; private set; }

    /// <summary>Tickets that a client received.</summary>
    public int Tickets { get; private set; }

    public override void Start(ReadOnlySpan<byte> transportParameters, IHandshakeSink sink)
    {
        ObjectDisposedException.ThrowIf(IsDisposed, this);
        _transportParameters = transportParameters.ToArray();
        _transportParameters = options.ChangeParameters?.Invoke(_transportParameters) ?? _transportParameters;
        if (!isServer)
        {
            Send(EncryptionLevel.Initial, ClientHello, Hello(options.ClientHelloLength), sink);
        }
    }

    public override void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink)
    {
        ObjectDisposedException.ThrowIf(IsDisposed, this);
        if (_hasFailed || bytes.IsEmpty)
        {
            return;
        }

        if (level != _level)
        {
            Fail(UnexpectedMessage, $"a message at level {level}, not at {_level}", sink);
            return;
        }

        _received.AddRange(bytes);
        while (!_hasFailed && NextMessage() is byte[] message)
        {
            Take(message, sink);
        }
    }

    public override void Dispose() => IsDisposed = true;

    /// <summary>The first received message, with its header, when all of it has arrived.</summary>
    private byte[]? NextMessage()
    {
        if (_received.Count < MessageHeaderLength)
        {
            return null;
        }

        int length = MessageHeaderLength + ((_received[1] << 16) | (_received[2] << 8) | _received[3]);
        if (_received.Count < length)
        {
            return null;
        }

        byte[] message = [.. _received[..length]];
        _received.RemoveRange(0, length);
        return message;
    }

    private void Take(byte[] message, IHandshakeSink sink)
    {
        byte type = message[0];
        if (type != _expected || (type == NewSessionTicket && isServer))
        {
            Fail(UnexpectedMessage, $"message {type}, not {_expected}", sink);
            return;
        }

        ulong before = _transcript;
        _transcript = WordHash.Of(_transcript, message);
        ReadOnlySpan<byte> body = message.AsSpan(MessageHeaderLength);
        switch (type)
        {
            case ClientHello:
                TakeClientHello(body, sink);
                break;
            case ServerHello:
                _secret = WordHash.Mix(_transcript);
                InstallKeys(EncryptionLevel.Handshake, isForSending: false, sink);
                if (!options.InstallsSendingKeysLate)
                {
                    InstallKeys(EncryptionLevel.Handshake, isForSending: true, sink);
                }

                Enter(EncryptionLevel.Handshake, EncryptedExtensions, sink);
                break;
            case EncryptedExtensions:
                _expected = Certificate;
                if (TakeExtensions(body, sink) && options.InstallsReceivingKeysEarly)
                {
                    InstallKeys(EncryptionLevel.OneRtt, isForSending: false, sink);
                }

                break;
            case Certificate:
                _expected = CertificateVerify;
                break;
            case CertificateVerify:
                _expected = Finished;
                break;
            case Finished:
                TakeFinished(body, before, sink);
                break;
            default:
                Tickets++;
                break;
        }
    }

    private void TakeClientHello(ReadOnlySpan<byte> body, IHandshakeSink sink)
    {
        if (!TakeExtensions(body, sink))
        {
            return;
        }

        Send(EncryptionLevel.Initial, ServerHello, Random(118), sink);
        _secret = WordHash.Mix(_transcript);
        InstallKeys(EncryptionLevel.Handshake, sink);
        Enter(EncryptionLevel.Handshake, Finished, sink);
        Send(EncryptionLevel.Handshake, EncryptedExtensions, Hello(RandomLength), sink);
        Send(EncryptionLevel.Handshake, Certificate, Random(options.CertificateLength), sink);
        Send(EncryptionLevel.Handshake, CertificateVerify, Random(260), sink);
        Send(EncryptionLevel.Handshake, Finished, Hash(_transcript), sink);
        InstallKeys(EncryptionLevel.OneRtt, isForSending: true, sink);
        if (options.InstallsReceivingKeysEarly)
        {
            InstallKeys(EncryptionLevel.OneRtt, isForSending: false, sink);
        }
    }

    private void TakeFinished(ReadOnlySpan<byte> body, ulong transcript, IHandshakeSink sink)
    {
        if (!body.SequenceEqual(Hash(transcript)))
        {
            Fail(DecryptError, "Finished does not match what was sent", sink);
            return;
        }

        if (!options.InstallsReceivingKeysEarly)
        {
            InstallKeys(EncryptionLevel.OneRtt, isForSending: false, sink);
        }

        if (!isServer)
        {
            if (options.InstallsSendingKeysLate)
            {
                InstallKeys(EncryptionLevel.Handshake, isForSending: true, sink);
            }

            Send(EncryptionLevel.Handshake, Finished, Hash(_transcript), sink);
            InstallKeys(EncryptionLevel.OneRtt, isForSending: true, sink);
        }

        Enter(EncryptionLevel.OneRtt, NewSessionTicket, sink);
        if (_hasFailed)
        {
            return;
        }

        sink.CompleteHandshake();
        if (isServer && options.SendsTicket)
        {
            Send(EncryptionLevel.OneRtt, NewSessionTicket, Random(220), sink);
        }
    }

    /// <summary>Reads the protocol and the transport parameters at the end of a hello or of EncryptedExtensions.</summary>
    private bool TakeExtensions(ReadOnlySpan<byte> body, IHandshakeSink sink)
    {
        int protocolLength = body[0];
        ReadOnlySpan<byte> protocol = body.Slice(1, protocolLength);
        int parametersLength = BinaryPrimitives.ReadUInt16BigEndian(body[(1 + protocolLength)..]);
        ReadOnlySpan<byte> parameters = body.Slice(3 + protocolLength, parametersLength);
        if (options.FailWith != 0)
        {
            return Fail(options.FailWith, "as the options say", sink);
        }

        if (!protocol.SequenceEqual(Bytes(options.Protocol)))
        {
            return Fail(NoApplicationProtocol, "no protocol in common", sink);
        }

        if (parameters.IsEmpty)
        {
            return Fail(MissingExtension, "no transport parameters", sink);
        }

        _protocol = protocol.ToArray();
        sink.ReceiveTransportParameters(parameters);
        return !_hasFailed;
    }

    /// <summary>Messages do not span levels (RFC 8446, section 5.1).</summary>
    private void Enter(EncryptionLevel level, byte expected, IHandshakeSink sink)
    {
        _level = level;
        _expected = expected;
        if (_received.Count > 0)
        {
            Fail(UnexpectedMessage, "bytes after the last message of a level", sink);
        }
    }

    private bool Fail(byte alert, string reason, IHandshakeSink sink)
    {
        _hasFailed = true;
        sink.FailHandshake(alert, reason);
        return false;
    }

    private void InstallKeys(EncryptionLevel level, IHandshakeSink sink)
    {
        InstallKeys(level, isForSending: false, sink);
        InstallKeys(level, isForSending: true, sink);
    }

    private void InstallKeys(EncryptionLevel level, bool isForSending, IHandshakeSink sink)
    {
        ulong direction = isForSending == isServer ? 16u : 32u;
        ulong key = WordHash.Mix(_secret ^ direction ^ (ulong)level);
        sink.InstallKeys(level, isForSending, new PlainProtector(key, options.Protectors));
    }

    private void Send(EncryptionLevel level, byte type, byte[] body, IHandshakeSink sink)
    {
        byte[] message = [type, (byte)(body.Length >> 16), (byte)(body.Length >> 8), (byte)body.Length, .. body];
        if (type != NewSessionTicket)
        {
            _transcript = WordHash.Of(_transcript, message);
        }

        sink.SendHandshake(level, message);
    }

    private byte[] Hello(int length)
    {
        byte[] parameters = [(byte)(_transportParameters.Length >> 8), (byte)_transportParameters.Length, .. _transportParameters];
        byte[] protocol = Bytes(options.Protocol);
        return [(byte)protocol.Length, .. protocol, .. parameters, .. Random(length)];
    }

    private byte[] Random(int length)
    {
        var bytes = new byte[length];
        ulong state = WordHash.Mix(options.Seed) + (isServer ? 1u : 0u);
        for (int i = 0; i < length; i++)
        {
            state = i % RandomLength == 0 ? WordHash.Mix(state) : state;
            bytes[i] = (byte)(state >> (8 * (i % RandomLength)));
        }

        return bytes;
    }

    private static byte[] Hash(ulong transcript)
    {
        var hash = new byte[FinishedLength];
        WordHash.Write(transcript, "finished"u8, hash);
        return hash;
    }

    private static byte[] Bytes(string text) => System.Text.Encoding.ASCII.GetBytes(text);
}

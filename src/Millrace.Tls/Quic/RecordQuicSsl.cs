using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Millrace.Quic.Protection;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Records;

namespace Millrace.Tls.Quic;

/// <summary>
/// QUIC's handshake on an OpenSSL that knows TLS over TCP only (3.0 to 3.4). The peer's messages are given to it in records, sealed with
/// the peer's own secrets where TLS would have them sealed. The records that it writes are dropped: its messages are taken from the
/// callback for debugging, its secrets from the key log. The transport parameters are a custom extension. What it lacks is 0-RTT; and a
/// client of OpenSSL before 3.2 has its Handshake sending keys only when the server's Finished has come. One thread.
/// </summary>
internal sealed unsafe class RecordQuicSsl(OpenSslQuicHandshake handshake, nint context, bool isClient)
    : QuicSsl(handshake, context, isClient)
{
    private const int HeaderLength = 5;
    private const byte ApplicationData = 23;

    private readonly bool _isClient = isClient;
    private AeadKey? _readKey;
    private ulong _readNumber;
    private byte* _parameters;
    private int _parameterCount;

    public override int Provide(EncryptionLevel level, ReadOnlySpan<byte> bytes, HandshakeCall call)
    {
        int count = Math.Min(bytes.Length, RecordSizes.Most);
        call.InputStart = call.InputEnd = 0;
        if (count == 0)
        {
            return 0;
        }

        Span<byte> record = call.Input;
        bytes[..count].CopyTo(record[HeaderLength..]);
        int length = count;
        if (level == EncryptionLevel.Initial)
        {
            WriteHeader(record, SslConstants.ContentHandshake, minor: 1, length);
        }
        else
        {
            // RFC 8446, section 5.2: the content, its type, the tag.
            record[HeaderLength + count] = SslConstants.ContentHandshake;
            length = count + 1 + AeadKey.TagLength;
            WriteHeader(record, ApplicationData, minor: 3, length);
            _readKey!.Seal(_readNumber++, record[..HeaderLength], record.Slice(HeaderLength, length));
        }

        call.InputEnd = HeaderLength + length;
        return count;
    }

    public override void SetParameters(byte* bytes, int count)
    {
        _parameters = bytes;
        _parameterCount = count;
    }

    public override void BeginReading(EncryptionLevel level, QuicCipherSuite suite, ReadOnlySpan<byte> secret)
    {
        base.BeginReading(level, suite, secret);
        _readKey?.Dispose();
        _readKey = AeadKey.Derive(suite, secret, "key"u8, "iv"u8);
        _readNumber = 0;
    }

    public override int TakeReceived(Span<byte> destination)
    {
        HandshakeCall call = Call!;
        int count = Math.Min(call.InputEnd - call.InputStart, destination.Length);
        call.Input.AsSpan(call.InputStart, count).CopyTo(destination);
        call.InputStart += count;
        return count;
    }

    /// <summary>The records are not needed.</summary>
    public override bool TryPut(ReadOnlySpan<byte> bytes) => true;

    public override void TakeSecret(ReadOnlySpan<byte> line)
    {
        int label = line.IndexOf((byte)' ');
        int random = line.LastIndexOf((byte)' ');
        if (label < 0)
        {
            return;
        }

        EncryptionLevel level;
        bool isClients;
        switch (line[..label])
        {
            case var name when name.SequenceEqual("CLIENT_HANDSHAKE_TRAFFIC_SECRET"u8):
                (level, isClients) = (EncryptionLevel.Handshake, true);
                break;
            case var name when name.SequenceEqual("SERVER_HANDSHAKE_TRAFFIC_SECRET"u8):
                (level, isClients) = (EncryptionLevel.Handshake, false);
                break;
            case var name when name.SequenceEqual("CLIENT_TRAFFIC_SECRET_0"u8):
                (level, isClients) = (EncryptionLevel.OneRtt, true);
                break;
            case var name when name.SequenceEqual("SERVER_TRAFFIC_SECRET_0"u8):
                (level, isClients) = (EncryptionLevel.OneRtt, false);
                break;
            default:
                return;
        }

        Span<byte> secret = stackalloc byte[MacContext.Sha384Length];
        if (Convert.FromHexString(line[(random + 1)..], secret, out _, out int count) == System.Buffers.OperationStatus.Done)
        {
            TakeSecret(level, isForSending: isClients == _isClient, secret[..count]);
        }

        CryptographicOperations.ZeroMemory(secret);
    }

    /// <summary>OpenSSL makes a ClientHello or EncryptedExtensions: 1 adds the extension.</summary>
    [UnmanagedCallersOnly]
    public static int OnAddParameters(
        nint ssl, uint type, uint message, byte** bytes, nuint* count, nint certificate, nuint index, int* alert, void* argument)
    {
        if (Current is not RecordQuicSsl quic)
        {
            return 0;
        }

        *bytes = quic._parameters;
        *count = (nuint)quic._parameterCount;
        return 1;
    }

    /// <summary>OpenSSL reads the extension: 1 accepts it.</summary>
    [UnmanagedCallersOnly]
    public static int OnParseParameters(
        nint ssl, uint type, uint message, byte* bytes, nuint count, nint certificate, nuint index, int* alert, void* argument)
    {
        if (Current is not RecordQuicSsl quic)
        {
            *alert = SslConstants.AlertUnsupportedExtension;
            return 0;
        }

        quic.TakeParameters(new ReadOnlySpan<byte>(bytes, (int)count));
        return 1;
    }

    protected override void Prepare()
    {
        LibSsl.SSL_set_msg_callback(Handle, &OnMessage);
        nint bio = FilterBio.New();
        LibSsl.SSL_set_bio(Handle, bio, bio);
    }

    protected override void Release() => _readKey?.Dispose();

    [UnmanagedCallersOnly]
    private static void OnMessage(int isWritten, int version, int content, byte* bytes, nuint count, nint ssl, void* argument)
    {
        if (isWritten != 1 || Current is not QuicSsl quic)
        {
            return;
        }

        if (content == SslConstants.ContentHandshake)
        {
            quic.TakeMessage(new ReadOnlySpan<byte>(bytes, (int)count));
        }
        else if (content == SslConstants.ContentAlert && count >= 2)
        {
            quic.TakeAlert(bytes[1]);
        }
    }

    private static void WriteHeader(Span<byte> record, byte type, byte minor, int length)
    {
        (record[0], record[1], record[2]) = (type, 3, minor);
        BinaryPrimitives.WriteUInt16BigEndian(record[3..], (ushort)length);
    }
}

using System.Buffers.Binary;
using System.Security.Cryptography;
using Millrace.Engine.Buffers;
using Millrace.Interop.Sockets;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Records;

/// <summary>
/// The records that one end of a TLS 1.3 connection sends (RFC 8446, section 5.2), made with OpenSSL's ciphers and the session's own keys:
/// it encrypts from where the plain bytes are to where they are sent from. OpenSSL's SSL_write copies them twice more. From the end of the
/// handshake on nothing else writes records of this direction. Owned by its connection's <see cref="SslConnection"/>, which disposes of it.
/// Reactor thread only.
/// </summary>
internal sealed unsafe class RecordSealer : IDisposable
{
    /// <summary>What it holds beside the record that it works on, as an estimate: a context of OpenSSL's with its key schedule.</summary>
    public const int MemoryBytes = 1_536;

    private const int HeaderLength = 5;
    private const int TypeLength = 1;
    private const byte Alert = 21;
    private const byte Handshake = 22;
    private const byte ApplicationData = 23;
    private const byte KeyUpdate = 24;

    /// <summary>Records with one key, at most: RFC 8446, section 5.5, has 2^24.5 for AES-GCM.</summary>
    private const ulong RecordsMax = 1UL << 24;

    private readonly QuicCipherSuite _suite;
    private readonly ulong _recordsMax;
    private readonly byte[] _secret;
    private AeadKey _key;
    private ulong _number;

    /// <param name="suite">The cipher suite.</param>
    /// <param name="secret">The secret of this direction; copied.</param>
    /// <param name="number">Records that OpenSSL has made with it: those of session tickets.</param>
    /// <param name="recordsMax">After so many the key is updated.</param>
    public RecordSealer(QuicCipherSuite suite, ReadOnlySpan<byte> secret, ulong number, ulong recordsMax = RecordsMax)
    {
        _suite = suite;
        _recordsMax = recordsMax;
        _secret = GC.AllocateUninitializedArray<byte>(secret.Length, pinned: true);
        secret.CopyTo(_secret);
        _key = DeriveKey(suite, secret);
        _number = number;
    }

    /// <summary>Encrypts a batch.</summary>
    /// <exception cref="InsufficientMemoryException">Nothing of what it has written may be sent, and the connection must end.</exception>
    public void Write(OutputBatch plain, ref RecordSizes sizes, OutputBatch encoded)
    {
        ReadOnlySpan<IoVector> parts = plain.Parts;
        long left = plain.Bytes;
        int part = 0;
        int offset = 0;
        while (left > 0)
        {
            if (_number >= _recordsMax)
            {
                UpdateKey(encoded);
            }

            int length = (int)Math.Min(left, sizes.Current);
            Begin(length, encoded);
            for (int missing = length; missing > 0;)
            {
                int count = (int)Math.Min(parts[part].Bytes - (nuint)offset, (nuint)missing);
                Encrypt(parts[part].Address + offset, count, encoded);
                missing -= count;
                offset += count;
                if ((nuint)offset == parts[part].Bytes)
                {
                    part++;
                    offset = 0;
                }
            }

            End(ApplicationData, encoded);
            sizes.Written();
            left -= length;
        }
    }

    /// <summary>Sends an alert, close_notify among them.</summary>
    /// <inheritdoc cref="Write" path="/exception"/>
    public void WriteAlert(byte level, byte description, OutputBatch encoded) => WriteMessage(Alert, [level, description], encoded);

    /// <summary>Sends a KeyUpdate and changes the key (RFC 8446, section 4.6.3): the peer asked for it, or the key is used up.</summary>
    /// <inheritdoc cref="Write" path="/exception"/>
    public void UpdateKey(OutputBatch encoded)
    {
        const byte NotRequested = 0;
        WriteMessage(Handshake, [KeyUpdate, 0, 0, 1, NotRequested], encoded);
        Span<byte> next = stackalloc byte[_secret.Length];
        KeyDerivation.ExpandLabel(_suite.Mac, _secret, "traffic upd"u8, next);
        AeadKey key = DeriveKey(_suite, next);
        next.CopyTo(_secret);
        CryptographicOperations.ZeroMemory(next);
        _key.Dispose();
        _key = key;
        _number = 0;
    }

    public void Dispose()
    {
        CryptographicOperations.ZeroMemory(_secret);
        _key.Dispose();
    }

    /// <summary>RFC 8446, section 7.3.</summary>
    private static AeadKey DeriveKey(QuicCipherSuite suite, ReadOnlySpan<byte> secret)
    {
        AeadKey key = AeadKey.Derive(suite, secret, "key"u8, "iv"u8);
        suite.Mac.ForgetKey();
        return key;
    }

    private void WriteMessage(byte type, ReadOnlySpan<byte> message, OutputBatch encoded)
    {
        fixed (byte* bytes = message)
        {
            Begin(message.Length, encoded);
            Encrypt(bytes, message.Length, encoded);
            End(type, encoded);
        }
    }

    private void Begin(int length, OutputBatch encoded)
    {
        Span<byte> header = encoded.GetSpan(HeaderLength)[..HeaderLength];
        header[0] = ApplicationData;
        header[1] = header[2] = 3; // The version of TLS 1.2, as section 5.2 wants it.
        BinaryPrimitives.WriteUInt16BigEndian(header[3..], (ushort)(length + TypeLength + AeadKey.TagLength));
        encoded.Advance(HeaderLength);
        RequireMemory(_key.TryBeginSeal(_number, header));
    }

    private void Encrypt(byte* plain, int count, OutputBatch encoded)
    {
        while (count > 0)
        {
            int size = Math.Min(encoded.GetSpan(1).Length, count);
            RequireMemory(_key.TrySeal(plain, size, encoded.Position));
            encoded.Advance(size);
            plain += size;
            count -= size;
        }
    }

    private void End(byte type, OutputBatch encoded)
    {
        _ = encoded.GetSpan(TypeLength + AeadKey.TagLength);
        byte* end = encoded.Position;
        RequireMemory(_key.TrySeal(&type, TypeLength, end) && _key.TryEndSeal(end + TypeLength));
        encoded.Advance(TypeLength + AeadKey.TagLength);
        _number++;
    }

    private static void RequireMemory(bool isDone)
    {
        if (!isDone)
        {
            throw new InsufficientMemoryException($"OpenSSL cannot encrypt: {OpenSslErrors.Drain()}.");
        }
    }
}

using System.Buffers.Binary;
using System.Security.Cryptography;
using System.Text;

namespace Millrace.Tls.Tests.Kit;

/// <summary>
/// What a client of TLS 1.3 sends after its handshake, sealed by hand (RFC 8446, section 5.2) for what no library would send. Of
/// TLS_AES_128_GCM_SHA256, with the secret that the server has logged.
/// </summary>
internal sealed class HandMadeRecords(byte[] secret) : IDisposable
{
    public const byte Handshake = 22;
    public const byte Data = 23;

    /// <summary>KeyUpdate, without asking for one (section 4.6.3).</summary>
    public static readonly byte[] KeyUpdate = [24, 0, 0, 1, 0];

    private const int HeaderBytes = 5;
    private const int TagBytes = 16;
    private const int VectorBytes = 12;

    private byte[] _secret = secret;
    private AesGcm? _cipher;
    private byte[] _vector = [];
    private ulong _number;

    /// <summary>A KeyUpdate that asks for one.</summary>
    public static readonly byte[] KeyUpdateAsked = [24, 0, 0, 1, 1];

    /// <summary>For the one connection that a server has logged the secrets of.</summary>
    public static HandMadeRecords Of(string keyLog) => new(SecretOf(keyLog, "CLIENT_TRAFFIC_SECRET_0 "));

    /// <summary>For what its server sends.</summary>
    public static HandMadeRecords OfServer(string keyLog) => new(SecretOf(keyLog, "SERVER_TRAFFIC_SECRET_0 "));

    public byte[] Seal(byte type, params ReadOnlySpan<byte> content)
    {
        Begin();
        byte[] plain = [.. content, type];
        byte[] record = new byte[HeaderBytes + plain.Length + TagBytes];
        (record[0], record[1], record[2]) = (Data, 3, 3);
        BinaryPrimitives.WriteUInt16BigEndian(record.AsSpan(3), (ushort)(plain.Length + TagBytes));
        _cipher!.Encrypt(
            Nonce(), plain, record.AsSpan(HeaderBytes, plain.Length), record.AsSpan(HeaderBytes + plain.Length), record.AsSpan(0, HeaderBytes));
        return record;
    }

    /// <summary>A KeyUpdate, after which the next keys hold (section 7.2).</summary>
    public byte[] UpdateKeys()
    {
        byte[] record = Seal(Handshake, KeyUpdate);
        NextKeys();
        return record;
    }

    /// <summary>Opens a record of the other end: its type and content.</summary>
    public (byte Type, byte[] Content) Open(byte[] record)
    {
        Begin();
        byte[] plain = new byte[record.Length - HeaderBytes - TagBytes];
        _cipher!.Decrypt(
            Nonce(), record.AsSpan(HeaderBytes, plain.Length), record.AsSpan(HeaderBytes + plain.Length), plain,
            record.AsSpan(0, HeaderBytes));
        return (plain[^1], plain[..^1]);
    }

    /// <summary>The next keys hold.</summary>
    public void NextKeys()
    {
        _secret = Expand("traffic upd", _secret.Length);
        _cipher!.Dispose();
        _cipher = null;
        _number = 0;
    }

    public void Dispose() => _cipher?.Dispose();

    private static byte[] SecretOf(string keyLog, string label)
    {
        string line = Assert.Single(File.ReadAllLines(keyLog), line => line.StartsWith(label, StringComparison.Ordinal));
        return Convert.FromHexString(line.Split(' ')[2]);
    }

    private void Begin()
    {
        if (_cipher is null)
        {
            _cipher = new AesGcm(Expand("key", 16), TagBytes);
            _vector = Expand("iv", VectorBytes);
        }
    }

    private byte[] Nonce()
    {
        byte[] nonce = new byte[VectorBytes];
        BinaryPrimitives.WriteUInt64BigEndian(nonce.AsSpan(VectorBytes - sizeof(ulong)), _number++);
        for (int i = 0; i < VectorBytes; i++)
        {
            nonce[i] ^= _vector[i];
        }

        return nonce;
    }

    /// <summary>HKDF-Expand-Label (section 7.1), without a context.</summary>
    private byte[] Expand(string label, int bytes)
    {
        byte[] name = Encoding.ASCII.GetBytes("tls13 " + label);
        byte[] info = [(byte)(bytes >> 8), (byte)bytes, (byte)name.Length, .. name, 0];
        return HKDF.Expand(HashAlgorithmName.SHA256, _secret, bytes, info);
    }
}

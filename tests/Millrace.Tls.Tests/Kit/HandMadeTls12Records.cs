using System.Buffers.Binary;
using System.Security.Cryptography;

namespace Millrace.Tls.Tests.Kit;

/// <summary>
/// What a client of TLS 1.2 sends after its handshake, sealed by hand (RFC 5288) for what no library would send. Of
/// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, with the secret that the server has logged.
/// </summary>
internal sealed class HandMadeTls12Records : IDisposable
{
    private const int KeyBytes = 16;
    private const int SaltBytes = 4;
    private const int TagBytes = 16;

    /// <summary>Where a ServerHello that comes first has its random bytes: after a record's head, a message's and the version.</summary>
    private const int ServerRandomAt = 5 + 4 + 2;
    private const int RandomBytes = 32;

    private readonly AesGcm _cipher;
    private readonly byte[] _salt;

    /// <summary>Finished was the first.</summary>
    private ulong _number = 1;

    private HandMadeTls12Records(byte[] key, byte[] salt)
    {
        _cipher = new AesGcm(key, TagBytes);
        _salt = salt;
    }

    /// <summary>For the one connection that a server has logged the secret of.</summary>
    /// <param name="keyLog">The file.</param>
    /// <param name="received">All that has come from the server.</param>
    public static HandMadeTls12Records Of(string keyLog, IEnumerable<byte> received)
    {
        string[] line = Assert.Single(File.ReadAllLines(keyLog)).Split(' ');
        Assert.Equal("CLIENT_RANDOM", line[0]);
        byte[] serverRandom = [.. received.Skip(ServerRandomAt).Take(RandomBytes)];
        byte[] block = Expand(
            Convert.FromHexString(line[2]), [.. "key expansion"u8, .. serverRandom, .. Convert.FromHexString(line[1])],
            2 * (KeyBytes + SaltBytes));
        return new HandMadeTls12Records(block[..KeyBytes], block[(2 * KeyBytes)..((2 * KeyBytes) + SaltBytes)]);
    }

    public byte[] Seal(byte type, params ReadOnlySpan<byte> content)
    {
        byte[] number = new byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64BigEndian(number, _number++);
        byte[] sealedBytes = new byte[content.Length];
        byte[] tag = new byte[TagBytes];
        byte[] associated = [.. number, type, 3, 3, (byte)(content.Length >> 8), (byte)content.Length];
        _cipher.Encrypt([.. _salt, .. number], content, sealedBytes, tag, associated);
        int length = number.Length + content.Length + TagBytes;
        return [type, 3, 3, (byte)(length >> 8), (byte)length, .. number, .. sealedBytes, .. tag];
    }

    public void Dispose() => _cipher.Dispose();

    /// <summary>PRF with SHA-256 (RFC 5246, section 5).</summary>
    private static byte[] Expand(byte[] secret, byte[] seed, int bytes)
    {
        var all = new List<byte>();
        byte[] link = seed;
        while (all.Count < bytes)
        {
            link = HMACSHA256.HashData(secret, link);
            byte[] linked = [.. link, .. seed];
            all.AddRange(HMACSHA256.HashData(secret, linked));
        }

        return [.. all.Take(bytes)];
    }
}

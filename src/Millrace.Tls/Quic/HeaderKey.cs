using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>A key of header protection (RFC 9001, section 5.4), with its context of OpenSSL's. One thread.</summary>
internal sealed unsafe class HeaderKey : IDisposable
{
    public const int SampleLength = 16;
    public const int MaskLength = 5;

    private readonly QuicCipherSuite _suite;
    private readonly byte[] _key;
    private nint _context;

    private HeaderKey(QuicCipherSuite suite)
    {
        _suite = suite;
        _key = GC.AllocateUninitializedArray<byte>(suite.KeyLength, pinned: true);
    }

    public static HeaderKey Derive(QuicCipherSuite suite, ReadOnlySpan<byte> secret, ReadOnlySpan<byte> label)
    {
        var made = new HeaderKey(suite);
        KeyDerivation.ExpandLabel(suite.Mac, secret, label, made._key);
        return made;
    }

    public HeaderKey Copy()
    {
        var made = new HeaderKey(_suite);
        _key.CopyTo(made._key, 0);
        return made;
    }

    public void GetMask(ReadOnlySpan<byte> sample, Span<byte> mask)
    {
        if (_context == 0)
        {
            Begin();
        }

        int count;
        byte* output = stackalloc byte[SampleLength];
        fixed (byte* bytes = sample[..SampleLength])
        {
            bool isDone;
            if (_suite.IsChaCha)
            {
                // The sample is the block counter and the nonce (section 5.4.4).
                byte* zeros = stackalloc byte[MaskLength];
                new Span<byte>(zeros, MaskLength).Clear();
                isDone = LibCrypto.EVP_EncryptInit_ex(_context, 0, 0, null, bytes) == 1
                    && LibCrypto.EVP_EncryptUpdate(_context, output, &count, zeros, MaskLength) == 1;
            }
            else
            {
                isDone = LibCrypto.EVP_EncryptUpdate(_context, output, &count, bytes, SampleLength) == 1;
            }

            Require(isDone);
        }

        new ReadOnlySpan<byte>(output, MaskLength).CopyTo(mask);
    }

    public void Dispose()
    {
        CryptographicOperations.ZeroMemory(_key);
        LibCrypto.EVP_CIPHER_CTX_free(_context);
        _context = 0;
    }

    private static void Require(bool isDone)
    {
        if (!isDone)
        {
            throw new InvalidOperationException($"OpenSSL cannot protect headers: {OpenSslErrors.Drain()}.");
        }
    }

    private void Begin()
    {
        OpenSslErrors.Clear();
        _context = LibCrypto.EVP_CIPHER_CTX_new();
        byte* key = (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(_key, 0);
        Require(_context != 0 && LibCrypto.EVP_EncryptInit_ex(_context, _suite.HeaderCipher, 0, key, null) == 1
            && LibCrypto.EVP_CIPHER_CTX_set_padding(_context, 0) == 1);
    }
}

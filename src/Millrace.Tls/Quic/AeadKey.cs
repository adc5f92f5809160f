using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Millrace.Quic.Packets;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// A key of authenticated encryption, with the vector that numbers make nonces from (RFC 8446, section 5.3). Its contexts of OpenSSL's are
/// made on first use and kept; memory that does not move, cleared when it is disposed of. One thread.
/// </summary>
internal sealed unsafe class AeadKey : IDisposable
{
    public const int TagLength = 16;
    public const int NonceLength = 12;

    private readonly nint _cipher;
    private readonly int _keyLength;

    /// <summary>The key, then the vector.</summary>
    private readonly byte[] _bytes;
    private nint _sealing;
    private nint _opening;

    private AeadKey(nint cipher, int keyLength)
    {
        _cipher = cipher;
        _keyLength = keyLength;
        _bytes = GC.AllocateUninitializedArray<byte>(keyLength + NonceLength, pinned: true);
    }

    /// <summary>The vector that is combined with numbers.</summary>
    public ReadOnlySpan<byte> Vector => _bytes.AsSpan(_keyLength);

    public static AeadKey Of(QuicCipherSuite suite, ReadOnlySpan<byte> key, ReadOnlySpan<byte> vector)
    {
        var made = new AeadKey(suite.Cipher, suite.KeyLength);
        key.CopyTo(made._bytes);
        vector.CopyTo(made._bytes.AsSpan(suite.KeyLength));
        return made;
    }

    /// <summary>Derives both from a secret.</summary>
    public static AeadKey Derive(
        QuicCipherSuite suite, ReadOnlySpan<byte> secret, ReadOnlySpan<byte> keyLabel, ReadOnlySpan<byte> vectorLabel)
    {
        var made = new AeadKey(suite.Cipher, suite.KeyLength);
        KeyDerivation.ExpandLabel(suite.Mac, secret, keyLabel, made._bytes.AsSpan(0, suite.KeyLength));
        KeyDerivation.ExpandLabel(suite.Mac, secret, vectorLabel, made._bytes.AsSpan(suite.KeyLength));
        return made;
    }

    /// <summary>Encrypts in place; the last <see cref="TagLength"/> bytes receive the tag.</summary>
    public void Seal(ulong number, ReadOnlySpan<byte> associated, Span<byte> textAndTag)
    {
        byte* nonce = stackalloc byte[NonceLength];
        WriteNonce(number, nonce);
        Seal(nonce, associated, textAndTag);
    }

    /// <summary>The same, but reads these pieces of the text, in their order, where they are.</summary>
    public void Seal(ulong number, ReadOnlySpan<byte> associated, Span<byte> textAndTag, ReadOnlySpan<PayloadPiece> pieces)
    {
        fixed (byte* text = textAndTag)
        {
            bool isDone = TryBeginSeal(number, associated);
            byte* at = text;
            foreach (PayloadPiece piece in pieces)
            {
                byte* output = text + piece.Offset;
                isDone = isDone && TrySealInPlace(at, output) && TrySeal((byte*)piece.Address, piece.Length, output);
                at = output + piece.Length;
            }

            byte* end = text + textAndTag.Length - TagLength;
            RequireMemory(isDone && TrySealInPlace(at, end) && TryEndSeal(end));
        }
    }

    /// <summary>The same with a whole nonce.</summary>
    public void Seal(ReadOnlySpan<byte> nonce, ReadOnlySpan<byte> associated, Span<byte> textAndTag)
    {
        fixed (byte* first = nonce)
        {
            Seal(first, associated, textAndTag);
        }
    }

    /// <summary>
    /// Begins to encrypt in pieces, which <see cref="TrySeal"/> takes, until <see cref="TryEndSeal"/>. False if OpenSSL has no memory.
    /// </summary>
    public bool TryBeginSeal(ulong number, ReadOnlySpan<byte> associated)
    {
        byte* nonce = stackalloc byte[NonceLength];
        WriteNonce(number, nonce);
        return TryBeginSeal(nonce, associated);
    }

    /// <summary>Encrypts the next piece: as many bytes as go in come out.</summary>
    public bool TrySeal(byte* text, int length, byte* output)
    {
        int count;
        return LibCrypto.EVP_EncryptUpdate(_sealing, output, &count, text, length) == 1;
    }

    public bool TryEndSeal(byte* tag)
    {
        int count;
        return LibCrypto.EVP_EncryptFinal_ex(_sealing, tag, &count) == 1
            && LibCrypto.EVP_CIPHER_CTX_ctrl(_sealing, SslConstants.CipherGetTag, TagLength, tag) == 1;
    }

    public bool IsPreparedToOpen => _opening != 0;

    /// <summary>Makes the context to decrypt with, if there is none.</summary>
    public void PrepareToOpen()
    {
        if (!IsPreparedToOpen)
        {
            RequireMemory(TryMakeContext(isForSealing: false, out _opening));
        }
    }

    /// <summary>Decrypts in place, but for the tag. False: not authentic.</summary>
    public bool TryOpen(ulong number, ReadOnlySpan<byte> associated, Span<byte> textAndTag)
    {
        byte* nonce = stackalloc byte[NonceLength];
        WriteNonce(number, nonce);
        return TryOpen(nonce, associated, textAndTag);
    }

    /// <summary>The same with a whole nonce.</summary>
    public bool TryOpen(ReadOnlySpan<byte> nonce, ReadOnlySpan<byte> associated, Span<byte> textAndTag)
    {
        fixed (byte* first = nonce)
        {
            return TryOpen(first, associated, textAndTag);
        }
    }

    public void Dispose()
    {
        CryptographicOperations.ZeroMemory(_bytes);
        LibCrypto.EVP_CIPHER_CTX_free(_sealing);
        LibCrypto.EVP_CIPHER_CTX_free(_opening);
        _sealing = _opening = 0;
    }

    private bool TryBeginSeal(byte* nonce, ReadOnlySpan<byte> associated)
    {
        int count;
        fixed (byte* bytes = associated)
        {
            return (_sealing != 0 || TryMakeContext(isForSealing: true, out _sealing))
                && LibCrypto.EVP_EncryptInit_ex(_sealing, 0, 0, null, nonce) == 1
                && LibCrypto.EVP_EncryptUpdate(_sealing, null, &count, bytes, associated.Length) == 1;
        }
    }

    private bool TrySealInPlace(byte* start, byte* end) => start == end || TrySeal(start, (int)(end - start), start);

    private void Seal(byte* nonce, ReadOnlySpan<byte> associated, Span<byte> textAndTag)
    {
        int length = textAndTag.Length - TagLength;
        fixed (byte* text = textAndTag)
        {
            RequireMemory(
                TryBeginSeal(nonce, associated) && (length == 0 || TrySeal(text, length, text)) && TryEndSeal(text + length));
        }
    }

    private bool TryOpen(byte* nonce, ReadOnlySpan<byte> associated, Span<byte> textAndTag)
    {
        int length = textAndTag.Length - TagLength;
        if (length < 0)
        {
            return false;
        }

        PrepareToOpen();
        int count;
        fixed (byte* associatedBytes = associated, text = textAndTag)
        {
            // The comparison of tags leaves nothing in the queue of errors.
            return LibCrypto.EVP_DecryptInit_ex(_opening, 0, 0, null, nonce) == 1
                && LibCrypto.EVP_DecryptUpdate(_opening, null, &count, associatedBytes, associated.Length) == 1
                && (length == 0 || LibCrypto.EVP_DecryptUpdate(_opening, text, &count, text, length) == 1)
                && LibCrypto.EVP_CIPHER_CTX_ctrl(_opening, SslConstants.CipherSetTag, TagLength, text + length) == 1
                && LibCrypto.EVP_DecryptFinal_ex(_opening, text + length, &count) == 1;
        }
    }

    /// <summary>A context with the key; false, and none, if OpenSSL has no memory.</summary>
    private bool TryMakeContext(bool isForSealing, out nint context)
    {
        context = LibCrypto.EVP_CIPHER_CTX_new();
        if (context != 0 && (isForSealing
            ? LibCrypto.EVP_EncryptInit_ex(context, _cipher, 0, Key(), null)
            : LibCrypto.EVP_DecryptInit_ex(context, _cipher, 0, Key(), null)) == 1)
        {
            return true;
        }

        LibCrypto.EVP_CIPHER_CTX_free(context);
        context = 0;
        return false;
    }

    private static void RequireMemory(bool isDone)
    {
        if (!isDone)
        {
            throw new InvalidOperationException($"OpenSSL cannot encrypt: {OpenSslErrors.Drain()}.");
        }
    }

    private void WriteNonce(ulong number, byte* nonce)
    {
        var bytes = new Span<byte>(nonce, NonceLength);
        Vector.CopyTo(bytes);
        Span<byte> low = bytes[(NonceLength - sizeof(ulong))..];
        BinaryPrimitives.WriteUInt64BigEndian(low, BinaryPrimitives.ReadUInt64BigEndian(low) ^ number);
    }

    private byte* Key() => (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(_bytes, 0);
}

using System.Runtime.InteropServices;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>HMAC with one hash, whose context of OpenSSL's serves for any number of keys. One for each thread; that thread only.</summary>
internal sealed unsafe class MacContext : SafeHandle
{
    public const int Sha256Length = 32;
    public const int Sha384Length = 48;

    private static readonly nint Hmac = LibCrypto.EVP_MAC_fetch(0, "HMAC\0"u8, 0);

    [ThreadStatic]
    private static MacContext? Sha256Instance;

    [ThreadStatic]
    private static MacContext? Sha384Instance;

    private MacContext(ReadOnlySpan<byte> digest)
        : base(0, ownsHandle: true)
    {
        SetHandle(Hmac == 0 ? 0 : LibCrypto.EVP_MAC_CTX_new(Hmac));
        Require(!IsInvalid && HasDigest(digest));
    }

    public static MacContext Sha256 => Sha256Instance ??= new MacContext("SHA256\0"u8);

    public static MacContext Sha384 => Sha384Instance ??= new MacContext("SHA384\0"u8);

    public override bool IsInvalid => handle == 0;

    /// <summary>The code of all parts in turn; its length is that of <paramref name="code"/>, the hash's.</summary>
    public void Compute(ReadOnlySpan<byte> key, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, Span<byte> code)
    {
        fixed (byte* keyBytes = key, firstBytes = first, secondBytes = second, codeBytes = code)
        {
            nuint count;
            Require(LibCrypto.EVP_MAC_init(handle, keyBytes, (nuint)key.Length, null) == 1
                && LibCrypto.EVP_MAC_update(handle, firstBytes, (nuint)first.Length) == 1
                && LibCrypto.EVP_MAC_update(handle, secondBytes, (nuint)second.Length) == 1
                && LibCrypto.EVP_MAC_final(handle, codeBytes, &count, (nuint)code.Length) == 1
                && count == (nuint)code.Length);
        }
    }

    /// <summary>Takes a key of zeros, so that the context, which lives as long as its thread, keeps no secret.</summary>
    public void ForgetKey()
    {
        byte* noKey = stackalloc byte[Sha256Length];
        new Span<byte>(noKey, Sha256Length).Clear();
        Require(LibCrypto.EVP_MAC_init(handle, noKey, Sha256Length, null) == 1);
    }

    protected override bool ReleaseHandle()
    {
        LibCrypto.EVP_MAC_CTX_free(handle);
        return true;
    }

    private static void Require(bool isDone)
    {
        if (!isDone)
        {
            throw new InvalidOperationException($"OpenSSL cannot compute an HMAC: {OpenSslErrors.Drain()}.");
        }
    }

    /// <summary>The context keeps the hash for the keys to come; this first key is none.</summary>
    private bool HasDigest(ReadOnlySpan<byte> digest)
    {
        fixed (byte* name = "digest\0"u8, value = digest)
        {
            OsslParameter* parameters = stackalloc OsslParameter[2];
            parameters[0] = new OsslParameter
            {
                Key = name,
                DataType = OsslParameter.Utf8String,
                Data = value,
                DataBytes = (nuint)(digest.Length - 1),
            };
            parameters[1] = default;
            byte* noKey = stackalloc byte[Sha256Length];
            new Span<byte>(noKey, Sha256Length).Clear();
            return LibCrypto.EVP_MAC_init(handle, noKey, Sha256Length, parameters) == 1;
        }
    }
}

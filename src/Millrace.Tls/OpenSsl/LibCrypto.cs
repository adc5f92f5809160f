using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary>What is used of libcrypto 3, under its own names.</summary>
internal static unsafe partial class LibCrypto
{
    private const string Library = OpenSslLibrary.Crypto;

    [LibraryImport(Library)]
    internal static partial ulong OpenSSL_version_num();

    [LibraryImport(Library)]
    internal static partial void ERR_clear_error();

    [LibraryImport(Library)]
    internal static partial ulong ERR_get_error();

    [LibraryImport(Library)]
    [SuppressGCTransition]
    internal static partial ulong ERR_peek_error();

    [LibraryImport(Library)]
    internal static partial byte* ERR_reason_error_string(ulong code);

    [LibraryImport(Library)]
    internal static partial void ERR_error_string_n(ulong code, byte* text, nuint most);

    [LibraryImport(Library)]
    internal static partial int BIO_get_new_index();

    [LibraryImport(Library)]
    internal static partial nint BIO_meth_new(int type, byte* name);

    [LibraryImport(Library)]
    internal static partial int BIO_meth_set_read_ex(nint method, delegate* unmanaged<nint, byte*, nuint, nuint*, int> callback);

    [LibraryImport(Library)]
    internal static partial int BIO_meth_set_write_ex(nint method, delegate* unmanaged<nint, byte*, nuint, nuint*, int> callback);

    [LibraryImport(Library)]
    internal static partial int BIO_meth_set_ctrl(nint method, delegate* unmanaged<nint, int, long, void*, long> callback);

    [LibraryImport(Library)]
    internal static partial nint BIO_new(nint method);

    [LibraryImport(Library)]
    internal static partial void BIO_set_init(nint bio, int isReady);

    [LibraryImport(Library)]
    internal static partial void BIO_set_flags(nint bio, int flags);

    [LibraryImport(Library)]
    internal static partial void BIO_clear_flags(nint bio, int flags);

    [LibraryImport(Library)]
    internal static partial int RAND_bytes(byte* bytes, int count);

    [LibraryImport(Library)]
    internal static partial void OPENSSL_cleanse(void* memory, nuint bytes);

    [LibraryImport(Library)]
    internal static partial nint EVP_CIPHER_fetch(nint libraryContext, byte* name, byte* properties);

    [LibraryImport(Library)]
    internal static partial int EVP_EncryptInit_ex(nint context, nint cipher, nint engine, byte* key, byte* vector);

    [LibraryImport(Library)]
    internal static partial int EVP_DecryptInit_ex(nint context, nint cipher, nint engine, byte* key, byte* vector);

    [LibraryImport(Library)]
    internal static partial int EVP_MAC_init(nint context, byte* key, nuint keyBytes, OsslParameter* parameters);

    [LibraryImport(Library)]
    internal static partial int i2d_X509(nint certificate, byte** bytes);

    [LibraryImport(Library)]
    internal static partial nint d2i_X509(nint target, byte** bytes, long count);

    [LibraryImport(Library)]
    internal static partial nint d2i_AutoPrivateKey(nint target, byte** bytes, long count);

    [LibraryImport(Library)]
    internal static partial void EVP_PKEY_free(nint key);

    [LibraryImport(Library)]
    internal static partial int OPENSSL_sk_num(nint stack);

    [LibraryImport(Library)]
    internal static partial nint OPENSSL_sk_value(nint stack, int index);

    [LibraryImport(Library)]
    internal static partial void X509_free(nint certificate);
}

using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary>The functions of libcrypto 3 that are used, under their own names.</summary>
internal static unsafe partial class LibCrypto
{
    private const string Library = OpenSslLibrary.Crypto;

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
    internal static partial void ERR_error_string_n(ulong code, Span<byte> text, nuint most);

    [LibraryImport(Library)]
    internal static partial int BIO_get_new_index();

    [LibraryImport(Library)]
    internal static partial nint BIO_meth_new(int type, ReadOnlySpan<byte> name);

    [LibraryImport(Library)]
    internal static partial int BIO_meth_set_read_ex(nint method, delegate* unmanaged<nint, byte*, nuint, nuint*, int> callback);

    [LibraryImport(Library)]
    internal static partial int BIO_meth_set_write_ex(nint method, delegate* unmanaged<nint, byte*, nuint, nuint*, int> callback);

    [LibraryImport(Library)]
    internal static partial int BIO_meth_set_ctrl(nint method, delegate* unmanaged<nint, int, long, void*, long> callback);

    [LibraryImport(Library)]
    internal static partial nint BIO_new(nint method);

    [LibraryImport(Library)]
    internal static partial nint BIO_new_mem_buf(byte* bytes, int count);

    [LibraryImport(Library)]
    internal static partial int BIO_free(nint bio);

    [LibraryImport(Library)]
    internal static partial void BIO_set_init(nint bio, int isReady);

    [LibraryImport(Library)]
    internal static partial void BIO_set_flags(nint bio, int flags);

    [LibraryImport(Library)]
    internal static partial void BIO_clear_flags(nint bio, int flags);

    [LibraryImport(Library)]
    internal static partial int RAND_bytes(byte* bytes, int count);

    [LibraryImport(Library)]
    internal static partial nint EVP_CIPHER_fetch(nint libraryContext, ReadOnlySpan<byte> name, nint properties);

    [LibraryImport(Library)]
    internal static partial int EVP_EncryptInit_ex(nint context, nint cipher, nint engine, byte* key, byte* vector);

    [LibraryImport(Library)]
    internal static partial int EVP_DecryptInit_ex(nint context, nint cipher, nint engine, byte* key, byte* vector);

    [LibraryImport(Library)]
    internal static partial nint EVP_CIPHER_CTX_new();

    /// <summary>Clears the keys.</summary>
    [LibraryImport(Library)]
    internal static partial void EVP_CIPHER_CTX_free(nint context);

    [LibraryImport(Library)]
    internal static partial int EVP_CIPHER_CTX_ctrl(nint context, int command, int number, void* pointer);

    [LibraryImport(Library)]
    internal static partial int EVP_CIPHER_CTX_set_padding(nint context, int isPadded);

    [LibraryImport(Library)]
    internal static partial int EVP_EncryptUpdate(nint context, byte* output, int* outputBytes, byte* input, int inputBytes);

    [LibraryImport(Library)]
    internal static partial int EVP_EncryptFinal_ex(nint context, byte* output, int* outputBytes);

    [LibraryImport(Library)]
    internal static partial int EVP_DecryptUpdate(nint context, byte* output, int* outputBytes, byte* input, int inputBytes);

    [LibraryImport(Library)]
    internal static partial int EVP_DecryptFinal_ex(nint context, byte* output, int* outputBytes);

    [LibraryImport(Library)]
    internal static partial nint EVP_MAC_fetch(nint libraryContext, ReadOnlySpan<byte> name, nint properties);

    [LibraryImport(Library)]
    internal static partial nint EVP_MAC_CTX_new(nint mac);

    /// <summary>Clears the key.</summary>
    [LibraryImport(Library)]
    internal static partial void EVP_MAC_CTX_free(nint context);

    [LibraryImport(Library)]
    internal static partial int EVP_MAC_update(nint context, byte* bytes, nuint count);

    [LibraryImport(Library)]
    internal static partial int EVP_MAC_final(nint context, byte* output, nuint* outputBytes, nuint most);

    [LibraryImport(Library)]
    internal static partial int EVP_MAC_init(nint context, byte* key, nuint keyBytes, OsslParameter* parameters);

    [LibraryImport(Library)]
    internal static partial int i2d_X509(nint certificate, byte** bytes);

    [LibraryImport(Library)]
    internal static partial nint d2i_X509(nint target, byte** bytes, long count);

    [LibraryImport(Library)]
    internal static partial nint d2i_AutoPrivateKey(nint target, byte** bytes, long count);

    [LibraryImport(Library)]
    internal static partial nint PEM_read_bio_PrivateKey(
        nint bio, nint target, delegate* unmanaged<byte*, int, int, void*, int> onPassword, void* argument);

    [LibraryImport(Library)]
    internal static partial void EVP_PKEY_free(nint key);

    [LibraryImport(Library)]
    internal static partial byte* EVP_PKEY_get0_type_name(nint key);

    [LibraryImport(Library)]
    internal static partial nint EVP_MD_CTX_new();

    [LibraryImport(Library)]
    internal static partial void EVP_MD_CTX_free(nint context);

    [LibraryImport(Library)]
    internal static partial int EVP_DigestSignInit_ex(
        nint context, void* keyContext, byte* digest, nint libraryContext, byte* properties, nint key, void* parameters);

    [LibraryImport(Library)]
    internal static partial int EVP_DigestSign(
        nint context, Span<byte> signature, ref nuint signatureBytes, ReadOnlySpan<byte> message, nuint messageBytes);

    [LibraryImport(Library)]
    internal static partial int EVP_DigestVerifyInit_ex(
        nint context, void* keyContext, byte* digest, nint libraryContext, byte* properties, nint key, void* parameters);

    [LibraryImport(Library)]
    internal static partial int EVP_DigestVerify(
        nint context, ReadOnlySpan<byte> signature, nuint signatureBytes, ReadOnlySpan<byte> message, nuint messageBytes);

    /// <summary>Compares public keys only.</summary>
    [LibraryImport(Library)]
    internal static partial int X509_check_private_key(nint certificate, nint key);

    /// <summary>0 if the first has issued the second.</summary>
    [LibraryImport(Library)]
    internal static partial int X509_check_issued(nint issuer, nint certificate);

    /// <summary>0 if it is not an authority's.</summary>
    [LibraryImport(Library)]
    internal static partial int X509_check_ca(nint certificate);

    /// <summary>The certificate keeps ownership.</summary>
    [LibraryImport(Library)]
    internal static partial nint X509_get0_pubkey(nint certificate);

    [LibraryImport(Library)]
    internal static partial int X509_STORE_add_cert(nint store, nint certificate);

    /// <summary>Adds all certificates of a PEM file.</summary>
    [LibraryImport(Library, StringMarshalling = StringMarshalling.Utf8)]
    internal static partial int X509_STORE_load_file(nint store, string path);

    [LibraryImport(Library)]
    internal static partial int X509_STORE_set_flags(nint store, ulong flags);

    [LibraryImport(Library)]
    internal static partial byte* X509_get_default_cert_file();

    [LibraryImport(Library)]
    internal static partial byte* X509_get_default_cert_dir();

    [LibraryImport(Library)]
    internal static partial int X509_STORE_CTX_get_error(nint verification);

    [LibraryImport(Library)]
    internal static partial int X509_STORE_CTX_get_error_depth(nint verification);

    /// <summary>The certificate at hand; the library keeps ownership.</summary>
    [LibraryImport(Library)]
    internal static partial nint X509_STORE_CTX_get_current_cert(nint verification);

    [LibraryImport(Library)]
    internal static partial byte* X509_verify_cert_error_string(long error);

    [LibraryImport(Library)]
    internal static partial int X509_VERIFY_PARAM_set1_host(nint parameters, ReadOnlySpan<byte> name, nuint count);

    [LibraryImport(Library)]
    internal static partial int X509_VERIFY_PARAM_set1_ip(nint parameters, ReadOnlySpan<byte> address, nuint count);

    [LibraryImport(Library)]
    internal static partial void X509_VERIFY_PARAM_set_hostflags(nint parameters, uint flags);

    [LibraryImport(Library)]
    internal static partial nint OPENSSL_sk_new_null();

    [LibraryImport(Library)]
    internal static partial int OPENSSL_sk_push(nint stack, nint item);

    [LibraryImport(Library)]
    internal static partial void OPENSSL_sk_free(nint stack);

    [LibraryImport(Library)]
    internal static partial int OPENSSL_sk_num(nint stack);

    [LibraryImport(Library)]
    internal static partial nint OPENSSL_sk_value(nint stack, int index);

    [LibraryImport(Library)]
    internal static partial void X509_free(nint certificate);
}

/// <summary><c>OSSL_PARAM</c>: a named argument; a list ends with an all-zero one.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct OsslParameter
{
    public const uint Utf8String = 4;

    public byte* Key;
    public uint DataType;
    public void* Data;
    public nuint DataBytes;
    public nuint ReturnBytes;
}

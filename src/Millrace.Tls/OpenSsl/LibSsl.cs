using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary>The functions of libssl 3 that are used, under their own names. Handles are the library's pointers.</summary>
internal static unsafe partial class LibSsl
{
    private const string Library = OpenSslLibrary.Ssl;

    [LibraryImport(Library)]
    internal static partial nint TLS_server_method();

    [LibraryImport(Library)]
    internal static partial nint TLS_client_method();

    [LibraryImport(Library)]
    internal static partial nint SSL_CTX_new(nint method);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_free(nint context);

    [LibraryImport(Library)]
    internal static partial long SSL_CTX_ctrl(nint context, int command, long number, ReadOnlySpan<byte> text);

    [LibraryImport(Library)]
    internal static partial long SSL_CTX_callback_ctrl(nint context, int command, void* callback);

    [LibraryImport(Library)]
    internal static partial ulong SSL_CTX_set_options(nint context, ulong options);

    [LibraryImport(Library)]
    internal static partial ulong SSL_CTX_clear_options(nint context, ulong options);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_add_custom_ext(
        nint context,
        uint type,
        uint messages,
        delegate* unmanaged<nint, uint, uint, byte**, nuint*, nint, nuint, int*, void*, int> add,
        delegate* unmanaged<nint, uint, uint, byte*, void*, void> free,
        void* addArgument,
        delegate* unmanaged<nint, uint, uint, byte*, nuint, nint, nuint, int*, void*, int> parse,
        void* parseArgument);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_set_cipher_list(nint context, ReadOnlySpan<byte> names);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_set_ciphersuites(nint context, ReadOnlySpan<byte> names);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_use_cert_and_key(nint context, nint certificate, nint key, nint chain, int isOverride);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_set_client_hello_cb(
        nint context, delegate* unmanaged<nint, int*, void*, int> callback, void* argument);

    /// <summary>Within the ClientHello's callback only; the bytes are the library's.</summary>
    [LibraryImport(Library)]
    internal static partial int SSL_client_hello_get0_ext(nint ssl, uint type, out byte* bytes, out nuint count);

    /// <summary>Within the ClientHello's callback only; the bytes are the library's.</summary>
    [LibraryImport(Library)]
    internal static partial nuint SSL_client_hello_get0_session_id(nint ssl, out byte* bytes);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_set_alpn_select_cb(
        nint context, delegate* unmanaged<nint, byte**, byte*, byte*, uint, void*, int> callback, void* argument);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_set_tlsext_ticket_key_evp_cb(
        nint context, delegate* unmanaged<nint, byte*, byte*, nint, nint, int, int> callback);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_set_keylog_callback(nint context, delegate* unmanaged<nint, byte*, void> callback);

    /// <summary>That of the KeyUpdate that waits to be sent; -1 for none.</summary>
    [LibraryImport(Library)]
    internal static partial int SSL_get_key_update_type(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_key_update(nint ssl, int type);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_set_info_callback(nint context, delegate* unmanaged<nint, int, int, void> callback);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_set_verify(nint context, int mode, delegate* unmanaged<int, nint, int> callback);

    /// <summary>The context keeps ownership.</summary>
    [LibraryImport(Library)]
    internal static partial nint SSL_CTX_get_cert_store(nint context);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_add_client_CA(nint context, nint certificate);

    [LibraryImport(Library)]
    internal static partial int SSL_CTX_set_session_id_context(nint context, ReadOnlySpan<byte> bytes, uint count);

    [LibraryImport(Library)]
    internal static partial long SSL_CTX_set_timeout(nint context, long seconds);

    [LibraryImport(Library)]
    internal static partial nint SSL_new(nint context);

    [LibraryImport(Library)]
    internal static partial void SSL_free(nint ssl);

    [LibraryImport(Library)]
    internal static partial void SSL_set_accept_state(nint ssl);

    [LibraryImport(Library)]
    internal static partial void SSL_set_connect_state(nint ssl);

    [LibraryImport(Library)]
    internal static partial void SSL_set_msg_callback(
        nint ssl, delegate* unmanaged<int, int, int, byte*, nuint, nint, void*, void> callback);

    /// <summary>Marks alerts as sent and received, so that the session stays valid after <see cref="SSL_free"/>.</summary>
    [LibraryImport(Library)]
    internal static partial void SSL_set_shutdown(nint ssl, int mode);

    /// <summary>0 for success, unlike the others.</summary>
    [LibraryImport(Library)]
    internal static partial int SSL_set_alpn_protos(nint ssl, ReadOnlySpan<byte> names, uint count);

    [LibraryImport(Library)]
    internal static partial void SSL_set_bio(nint ssl, nint readBio, nint writeBio);

    [LibraryImport(Library)]
    internal static partial nint SSL_set_SSL_CTX(nint ssl, nint context);

    [LibraryImport(Library)]
    internal static partial void SSL_certs_clear(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_use_cert_and_key(nint ssl, nint certificate, nint key, nint chain, int isOverride);

    [LibraryImport(Library)]
    internal static partial void SSL_set_verify(nint ssl, int mode, void* callback);

    [LibraryImport(Library)]
    internal static partial ulong SSL_set_options(nint ssl, ulong options);

    [LibraryImport(Library)]
    internal static partial int SSL_set_num_tickets(nint ssl, nuint count);

    [LibraryImport(Library)]
    internal static partial int SSL_do_handshake(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_read_ex(nint ssl, Span<byte> bytes, nuint most, out nuint count);

    [LibraryImport(Library)]
    internal static partial int SSL_write_ex(nint ssl, ReadOnlySpan<byte> bytes, nuint count, out nuint written);

    [LibraryImport(Library)]
    [SuppressGCTransition]
    internal static partial int SSL_has_pending(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_free_buffers(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_in_init(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_shutdown(nint ssl);

    [LibraryImport(Library)]
    internal static partial int SSL_get_error(nint ssl, int result);

    [LibraryImport(Library)]
    internal static partial int SSL_version(nint ssl);

    [LibraryImport(Library)]
    internal static partial long SSL_ctrl(nint ssl, int command, long number, void* argument);

    /// <summary>The library's text; null for a group that it does not have.</summary>
    [LibraryImport(Library)]
    internal static partial byte* SSL_group_to_name(nint ssl, int group);

    [LibraryImport(Library)]
    internal static partial nint SSL_get_current_cipher(nint ssl);

    [LibraryImport(Library)]
    internal static partial ushort SSL_CIPHER_get_protocol_id(nint cipher);

    [LibraryImport(Library)]
    internal static partial byte* SSL_get_servername(nint ssl, int type);

    [LibraryImport(Library)]
    internal static partial int SSL_session_reused(nint ssl);

    /// <summary>0 for success, unlike the others.</summary>
    [LibraryImport(Library)]
    internal static partial int SSL_CTX_set_alpn_protos(nint context, ReadOnlySpan<byte> names, uint count);

    [LibraryImport(Library)]
    internal static partial void SSL_get0_alpn_selected(nint ssl, out byte* name, out uint count);

    [LibraryImport(Library)]
    internal static partial void SSL_CTX_sess_set_new_cb(nint context, delegate* unmanaged<nint, nint, int> callback);

    /// <summary>Both keep a reference to the session.</summary>
    [LibraryImport(Library)]
    internal static partial int SSL_set_session(nint ssl, nint session);

    [LibraryImport(Library)]
    internal static partial void SSL_SESSION_free(nint session);

    [LibraryImport(Library)]
    internal static partial int SSL_SESSION_is_resumable(nint session);

    [LibraryImport(Library)]
    internal static partial int SSL_SESSION_get_protocol_version(nint session);

    /// <summary>0 for none, otherwise the number of RFC 6066, section 4.</summary>
    [LibraryImport(Library)]
    internal static partial byte SSL_SESSION_get_max_fragment_length(nint session);

    /// <summary>The library keeps ownership.</summary>
    [LibraryImport(Library)]
    internal static partial nint SSL_get_session(nint ssl);

    /// <summary>The verification's parameters; the connection keeps ownership.</summary>
    [LibraryImport(Library)]
    internal static partial nint SSL_get0_param(nint ssl);

    [LibraryImport(Library)]
    internal static partial nint SSL_get1_peer_certificate(nint ssl);

    [LibraryImport(Library)]
    internal static partial nint SSL_get_peer_cert_chain(nint ssl);
}

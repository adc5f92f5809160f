using System.Runtime.InteropServices;

namespace Millrace.Tls.Tests.Kit;

/// <summary>The OpenSSL of this process.</summary>
internal static partial class Library
{
    private const ulong Version35 = 0x30500000;

    /// <summary>Whether it has X25519MLKEM768.</summary>
    public static bool HasHybridGroup => OpenSSL_version_num() >= Version35;

    [LibraryImport("libcrypto.so.3")]
    private static partial ulong OpenSSL_version_num();
}

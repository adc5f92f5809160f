using System.Runtime.InteropServices;

namespace Millrace.Interop.Crypt;

/// <summary>
/// <c>struct crypt_data</c> of libxcrypt: what <c>crypt_rn(3)</c> works in. 32,768 bytes on every architecture, all zero before the
/// first call. (glibc's own, until 2.28, had 131,232; that library has no <c>crypt_rn</c> and is not used.)
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 32768)]
internal unsafe struct CryptData
{
    public const int OutputBytes = 384;
    public const int SettingBytes = 384;
    public const int InputBytes = 512;

    [FieldOffset(0)] public fixed byte Output[OutputBytes];

    /// <summary>For the caller: where the setting may be put for the call.</summary>
    [FieldOffset(384)] public fixed byte Setting[SettingBytes];

    /// <summary>For the caller: where the phrase may be put for the call.</summary>
    [FieldOffset(768)] public fixed byte Input[InputBytes];
}

using System.Text;

namespace Millrace.Interop;

/// <summary>Text as C has it.</summary>
internal static class CString
{
    /// <summary>As UTF-8, with a zero byte behind it.</summary>
    public static byte[] Of(string text) => [.. Encoding.UTF8.GetBytes(text), 0];
}

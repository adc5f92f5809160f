using Millrace.Interop;

namespace Millrace.Engine;

/// <summary>
/// Creates the exceptions of failed file reads. Their HResult is the kernel's error number, positive, as in the runtime's own. Any thread.
/// </summary>
internal static class FileReadErrors
{
    /// <param name="result">What the kernel returned: -errno.</param>
    public static IOException Of(int result) => new($"Reading a file failed: {Errno.Describe(result)}.", -result);

    /// <summary>The connection is broken, so the bytes could not be sent.</summary>
    public static IOException Broken() => new("The connection is broken; the file was not read.", Errno.ECANCELED);

    /// <summary>The reactor ended before the kernel completed the read.</summary>
    public static IOException Unanswered() => new("The reactor ended before the file was read.", Errno.ECANCELED);
}

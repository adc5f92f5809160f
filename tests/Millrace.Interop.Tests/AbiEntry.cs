namespace Millrace.Interop.Tests;

/// <summary>
/// One fact of the kernel's ABI that the room repeats: what it is called here, what it is in C, and its value as read in the
/// kernel's source. <paramref name="Since"/> names the kernel that brought it where Debian 12's headers (6.1) may lack it: such a
/// name must be a macro, so that its absence can be seen.
/// </summary>
internal sealed record AbiEntry(string Member, string C, long Committed, string Since = "6.1")
{
    public bool MayBeMissing => Since != "6.1";
}

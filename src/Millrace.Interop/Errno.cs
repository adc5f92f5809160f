namespace Millrace.Interop;

/// <summary>The kernel's error numbers by their C names. Calls of this assembly return them negated.</summary>
internal static class Errno
{
    public const int EPERM = 1;
    public const int ENOENT = 2;
    public const int EINTR = 4;
    public const int EIO = 5;
    public const int ENXIO = 6;
    public const int EAGAIN = 11;
    public const int ENOMEM = 12;
    public const int EACCES = 13;
    public const int EXDEV = 18;
    public const int ENOTDIR = 20;
    public const int EISDIR = 21;
    public const int EINVAL = 22;
    public const int ENFILE = 23;
    public const int EMFILE = 24;
    public const int ENAMETOOLONG = 36;
    public const int ENOSYS = 38;
    public const int ELOOP = 40;
}

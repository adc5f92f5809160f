using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Interop.Files;

namespace Millrace.Interop;

/// <summary>Error numbers of Linux, the same on x64 and arm64 (<c>asm-generic/errno.h</c>); calls return them negated.</summary>
internal static class Errno
{
    public const int EPERM = 1;
    public const int ENOENT = 2;
    public const int ESRCH = 3;
    public const int EINTR = 4;
    public const int EIO = 5;
    public const int ENXIO = 6;
    public const int EBADF = 9;
    public const int EAGAIN = 11;
    public const int ENOMEM = 12;
    public const int EACCES = 13;
    public const int EFAULT = 14;
    public const int EBUSY = 16;
    public const int EEXIST = 17;
    public const int EXDEV = 18;
    public const int ENOTDIR = 20;
    public const int EISDIR = 21;
    public const int EINVAL = 22;
    public const int ENFILE = 23;
    public const int EMFILE = 24;
    public const int ENOSPC = 28;
    public const int EPIPE = 32;
    public const int ENAMETOOLONG = 36;
    public const int ENOSYS = 38;
    public const int ELOOP = 40;
    public const int EBADR = 53;
    public const int ETIME = 62;
    public const int ENONET = 64;
    public const int EPROTO = 71;
    public const int EMSGSIZE = 90;
    public const int ENOPROTOOPT = 92;
    public const int EOPNOTSUPP = 95;
    public const int EAFNOSUPPORT = 97;
    public const int EADDRINUSE = 98;
    public const int EADDRNOTAVAIL = 99;
    public const int ENETDOWN = 100;
    public const int ENETUNREACH = 101;
    public const int ECONNABORTED = 103;
    public const int ECONNRESET = 104;
    public const int ENOBUFS = 105;
    public const int ENOTCONN = 107;
    public const int ETIMEDOUT = 110;
    public const int ECONNREFUSED = 111;
    public const int EHOSTDOWN = 112;
    public const int EHOSTUNREACH = 113;
    public const int EINPROGRESS = 115;
    public const int ECANCELED = 125;

    /// <summary>The system's message for an error, e.g. "Address already in use"; a lack of descriptors is named with its limit.</summary>
    public static string Describe(int errno) => Math.Abs(errno) switch
    {
        EMFILE when FileCalls.GetDescriptorLimit(out ResourceLimit limit) == 0 => string.Create(
            CultureInfo.InvariantCulture, $"all {limit.Soft} descriptors that this process may have are in use"),
        ENFILE => "all descriptors of the machine are in use",
        int other => Marshal.GetPInvokeErrorMessage(other),
    };

    /// <summary>What to do about a lack of descriptors, in a clause; null for other errors.</summary>
    public static string? DescriptorRemedy(int errno) => Math.Abs(errno) switch
    {
        EMFILE => "raise the limit ('ulimit -n', LimitNOFILE= in a unit file)",
        ENFILE => "raise fs.file-max, or close programs",
        _ => null,
    };
}

using Millrace.Interop;

namespace Millrace.Engine.Backends.Uring;

/// <summary>Says in one sentence why io_uring is not to be had here and what to do about it.</summary>
internal static class UringRefusal
{
    private const string DisabledSetting = "/proc/sys/kernel/io_uring_disabled";

    public static EngineException ForSetup(int errno) => new(errno switch
    {
        Errno.ENOSYS => "io_uring is not in this kernel (or a sandbox hides it): Linux 6.1 or newer is needed.",
        Errno.EPERM or Errno.EACCES when SettingForbids() =>
            "io_uring is switched off by the setting kernel.io_uring_disabled: allow it with 'sysctl -w kernel.io_uring_disabled=0'.",
        Errno.EPERM or Errno.EACCES =>
            "io_uring is forbidden here, most likely by a container's seccomp profile: "
            + "allow io_uring_setup, io_uring_enter and io_uring_register in it.",
        Errno.EOPNOTSUPP => "io_uring is not supported by this sandbox: allow it there.",
        Errno.EINVAL => "io_uring of this kernel lacks what Millrace needs: Linux 6.1 or newer is needed.",
        Errno.ENOMEM => "io_uring found no memory to lock: "
            + "raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) or use fewer reactors.",
        Errno.EMFILE or Errno.ENFILE => "io_uring found no free descriptor: raise the limit ('ulimit -n', LimitNOFILE= in a unit file).",
        _ => $"io_uring could not be set up: {Errno.Describe(errno)}.",
    })
    {
        IsShortOfMemory = errno == Errno.ENOMEM,
    };

    public static EngineException ForBuffers(int errno) => errno == Errno.EINVAL
        ? new EngineException("io_uring of this kernel lacks provided-buffer rings: Linux 6.1 or newer is needed.")
        : ForSetup(errno);

    public static EngineException KernelTooOld() => ForSetup(Errno.EINVAL);

    private static bool SettingForbids()
    {
        try
        {
            return File.Exists(DisabledSetting) && File.ReadAllText(DisabledSetting).Trim() != "0";
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }
}

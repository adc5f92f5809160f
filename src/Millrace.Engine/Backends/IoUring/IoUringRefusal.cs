using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Engine.Backends.IoUring;

/// <summary>What prevents this process from using io_uring.</summary>
internal enum IoUringObstacle
{
    /// <summary>The kernel has no io_uring, or one that is too old.</summary>
    Kernel,

    /// <summary><c>kernel.io_uring_disabled</c>.</summary>
    Setting,

    /// <summary>A seccomp filter, such as a container runtime's.</summary>
    Seccomp,

    /// <summary>SELinux or another security module, or a sandbox that reports no details.</summary>
    Policy,

    /// <summary>io_uring exists but fails the self-test.</summary>
    BackendSelfTest,

    /// <summary>The configured submission polling thread is not available.</summary>
    Poller,

    /// <summary>The configured registered buffers are not available.</summary>
    Memory,

    /// <summary>A resource ran out (memory to lock, descriptors). Never a reason for another backend.</summary>
    Scarcity,

    Unknown,
}

/// <summary>
/// Why io_uring is not available and what to do about it: <paramref name="Cause"/> is a sentence without full stop,
/// <paramref name="Remedy"/> an imperative clause without capital and full stop.
/// </summary>
internal sealed record IoUringRefusal(IoUringObstacle Obstacle, int ErrorNumber, string Cause, string Remedy)
{
    private const string NewerKernel = "use Linux 6.1 or newer";

    /// <summary>Whether epoll may be used instead: io_uring is not available to this process, and a retry would not help.</summary>
    public bool IsAbsence =>
        Obstacle is not (IoUringObstacle.Scarcity or IoUringObstacle.Poller or IoUringObstacle.Memory or IoUringObstacle.Unknown);

    public string Message => $"{Cause}: {Remedy}.";

    public static IoUringRefusal ForSetup(int errno) => ForSetup(errno, HostRestrictions.Read());

    /// <summary>Interprets an error of io_uring_setup with the restrictions of the process.</summary>
    public static IoUringRefusal ForSetup(int errno, HostRestrictions host) => errno switch
    {
        Errno.EPERM or Errno.EACCES or Errno.ENOSYS when host.UringDisabled => new(
            IoUringObstacle.Setting, errno, "io_uring is switched off by the setting kernel.io_uring_disabled",
            "allow it with 'sysctl -w kernel.io_uring_disabled=0'"),
        Errno.EPERM or Errno.EACCES or Errno.ENOSYS when host.SeccompFilters => new(
            IoUringObstacle.Seccomp, errno, "io_uring is forbidden by a seccomp filter, most likely the container's profile",
            "allow io_uring_setup, io_uring_enter and io_uring_register in it"),
        Errno.EPERM or Errno.EACCES => new(
            IoUringObstacle.Policy, errno, "io_uring is forbidden here, by a security module (SELinux, AppArmor) or a sandbox",
            "allow it there"),
        Errno.ENOSYS => new(IoUringObstacle.Kernel, errno, "io_uring is not in this kernel, or a sandbox hides it", NewerKernel),
        Errno.EOPNOTSUPP => new(IoUringObstacle.Policy, errno, "io_uring is not supported by this sandbox", "allow it there"),
        Errno.EINVAL => new(IoUringObstacle.Kernel, errno, "io_uring of this kernel lacks what Millrace needs", NewerKernel),
        Errno.ENOMEM => new(
            IoUringObstacle.Scarcity, errno, "io_uring found no memory to lock", Advice.LockedMemory),
        Errno.EMFILE or Errno.ENFILE => new(
            IoUringObstacle.Scarcity, errno, "io_uring found no free descriptor", Advice.Descriptors),
        _ => new(
            IoUringObstacle.Unknown, errno, $"io_uring could not be set up ({Errno.Describe(errno)})",
            "report it, and use epoll meanwhile"),
    };

    public static IoUringRefusal ForBuffers(int errno) => errno == Errno.EINVAL
        ? new(IoUringObstacle.Kernel, errno, "io_uring of this kernel lacks provided-buffer rings", NewerKernel)
        : ForSetup(errno);

    /// <summary>The kernel provides rings, but no submission polling thread.</summary>
    public static IoUringRefusal ForPoller(int errno) => new(
        IoUringObstacle.Poller, errno, $"io_uring got no kernel thread for submission polling ({Errno.Describe(errno)})", errno switch
        {
            Errno.EAGAIN => "raise the limit of threads ('ulimit -u', TasksMax= in a unit file), or do without submission polling",
            Errno.EPERM or Errno.EACCES => "allow it in the security module (SELinux calls it sqpoll), or do without submission polling",
            _ => "use a newer kernel, or do without submission polling",
        });

    /// <summary>The kernel does not pin so much memory for this process: smaller rings would not help.</summary>
    public static IoUringRefusal ForMemory(int errno) => errno == Errno.ENOMEM
        ? new(
            IoUringObstacle.Memory, errno, "io_uring found no memory to lock for registered buffers",
            $"{Advice.LockedMemory}, or configure smaller ones")
        : new(
            IoUringObstacle.Memory, errno, $"io_uring registers no buffers ({Errno.Describe(errno)})", "do without registered buffers");

    public static IoUringRefusal KernelTooOld() => ForSetup(Errno.EINVAL);

    /// <summary>An operation of the self-test failed.</summary>
    public static IoUringRefusal ForSelfTest(SelfTestFailure failure) => OfScarcity(failure) ?? new(
        IoUringObstacle.BackendSelfTest,
        failure.ErrorNumber,
        $"io_uring failed its self-test ({failure.What})",
        "update the kernel, or run outside the sandbox");

    /// <summary>A resource that a trial lacked proves nothing about the kernel, and may be available at the next trial.</summary>
    private static IoUringRefusal? OfScarcity(SelfTestFailure failure) => (failure.IsScarcity, failure.ErrorNumber) switch
    {
        (false, _) => null,
        (true, Errno.EMFILE or Errno.ENFILE) => new(
            IoUringObstacle.Scarcity, failure.ErrorNumber, "io_uring found no free descriptor for its self-test", Advice.Descriptors),
        _ => new(
            IoUringObstacle.Scarcity, failure.ErrorNumber, $"io_uring found no memory for its self-test ({failure.What})", Advice.Memory),
    };
}

/// <summary>Restrictions of this process that explain why io_uring is refused.</summary>
/// <param name="UringDisabled">Whether <c>kernel.io_uring_disabled</c> (6.6) is set: to 1 (all but a group) or 2 (all).</param>
/// <param name="SeccompFilters">Whether system calls pass a seccomp filter.</param>
internal sealed record HostRestrictions(bool UringDisabled, bool SeccompFilters)
{
    private const string DisabledSetting = "/proc/sys/kernel/io_uring_disabled";
    private const string Status = "/proc/self/status";
    private const string SeccompField = "Seccomp:";

    /// <summary>SECCOMP_MODE_FILTER, as proc(5) shows it.</summary>
    private const string FilterMode = "2";

    /// <summary>If a file does not exist (an older kernel) or is not readable, nothing is known.</summary>
    public static HostRestrictions Read() => new(
        KernelFile.TryRead(DisabledSetting) is not (null or "0"),
        KernelFile.TryRead(Status)?.Split('\n').Any(static line =>
            line.StartsWith(SeccompField, StringComparison.Ordinal) && line[SeccompField.Length..].Trim() == FilterMode) == true);
}

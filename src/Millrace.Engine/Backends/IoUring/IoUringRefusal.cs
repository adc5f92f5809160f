using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Engine.Backends.IoUring;

/// <summary>What follows from a refusal of io_uring.</summary>
internal enum IoUringRefusalKind
{
    /// <summary>This process cannot use io_uring: epoll may be used instead, and a retry would not help.</summary>
    Unavailable,

    /// <summary>A configured option (submission polling, registered buffers) is not available.</summary>
    Option,

    /// <summary>
    /// A resource ran out (memory to lock, descriptors), or the cause is not known. Only a lack of memory that does not end is a reason for
    /// another backend.
    /// </summary>
    SetupFailed,
}

/// <summary>
/// Why io_uring is not available and what to do about it: <paramref name="Cause"/> is a sentence without full stop,
/// <paramref name="Remedy"/> an imperative clause without capital and full stop.
/// </summary>
internal sealed record IoUringRefusal(IoUringRefusalKind Kind, int ErrorNumber, string Cause, string Remedy)
{
    private const string NewerKernel = "use Linux 6.1 or newer";

    public bool IsUnavailable => Kind == IoUringRefusalKind.Unavailable;

    public string Message => $"{Cause}: {Remedy}.";

    public static IoUringRefusal ForSetup(int errno) => ForSetup(errno, HostRestrictions.Read());

    public static IoUringRefusal ForSetup(int errno, HostRestrictions host) => errno switch
    {
        Errno.EPERM or Errno.EACCES or Errno.ENOSYS when host.UringDisabled => new(
            IoUringRefusalKind.Unavailable, errno, "io_uring is switched off by the setting kernel.io_uring_disabled",
            "allow it with 'sysctl -w kernel.io_uring_disabled=0'"),
        Errno.EPERM or Errno.EACCES or Errno.ENOSYS when host.SeccompFilters => new(
            IoUringRefusalKind.Unavailable, errno, "io_uring is forbidden by a seccomp filter, most likely the container's profile",
            "allow io_uring_setup, io_uring_enter and io_uring_register in it"),
        Errno.EPERM or Errno.EACCES => new(
            IoUringRefusalKind.Unavailable, errno, "io_uring is forbidden here, by a security module (SELinux, AppArmor) or a sandbox",
            "allow it there"),
        Errno.ENOSYS => new(IoUringRefusalKind.Unavailable, errno, "io_uring is not in this kernel, or a sandbox hides it", NewerKernel),
        Errno.EOPNOTSUPP => new(IoUringRefusalKind.Unavailable, errno, "io_uring is not supported by this sandbox", "allow it there"),
        Errno.EINVAL => new(IoUringRefusalKind.Unavailable, errno, "io_uring of this kernel lacks what Millrace needs", NewerKernel),
        Errno.ENOMEM => new(
            IoUringRefusalKind.SetupFailed, errno, "io_uring found no memory to lock", Advice.LockedMemoryOfRings),
        Errno.EMFILE or Errno.ENFILE => new(
            IoUringRefusalKind.SetupFailed, errno, $"io_uring found no free descriptor, as {Errno.Describe(errno)}",
            Errno.DescriptorRemedy(errno)!),
        _ => new(
            IoUringRefusalKind.SetupFailed, errno, $"io_uring could not be set up ({Errno.Describe(errno)})",
            "report it, and use epoll meanwhile"),
    };

    public static IoUringRefusal ForBuffers(int errno) => errno == Errno.EINVAL
        ? new(IoUringRefusalKind.Unavailable, errno, "io_uring of this kernel lacks provided-buffer rings", NewerKernel)
        : ForSetup(errno);

    public static IoUringRefusal ForPoller(int errno) => new(
        IoUringRefusalKind.Option, errno, $"io_uring got no kernel thread for submission polling ({Errno.Describe(errno)})", errno switch
        {
            Errno.EAGAIN => "raise the limit of threads ('ulimit -u', TasksMax= in a unit file), or do without submission polling",
            Errno.EPERM or Errno.EACCES => "allow it in the security module (SELinux calls it sqpoll), or do without submission polling",
            _ => "use a newer kernel, or do without submission polling",
        });

    /// <summary>The kernel does not pin so much memory for this process: smaller rings would not help.</summary>
    public static IoUringRefusal ForMemory(int errno) => errno == Errno.ENOMEM
        ? new(
            IoUringRefusalKind.Option, errno, "io_uring found no memory to lock for registered buffers",
            $"{Advice.LockedMemory}, or configure smaller ones")
        : new(
            IoUringRefusalKind.Option, errno, $"io_uring registers no buffers ({Errno.Describe(errno)})", "do without registered buffers");

    public static IoUringRefusal KernelTooOld() => ForSetup(Errno.EINVAL);

    public static IoUringRefusal ForSelfTest(SelfTestFailure failure) => OfScarcity(failure) ?? new(
        IoUringRefusalKind.Unavailable,
        failure.ErrorNumber,
        $"io_uring failed its self-test ({failure.What})",
        "update the kernel, or run outside the sandbox");

    /// <summary>A resource that a trial lacked proves nothing about the kernel, and may be available at the next trial.</summary>
    private static IoUringRefusal? OfScarcity(SelfTestFailure failure) => (failure.IsScarcity, failure.ErrorNumber) switch
    {
        (false, _) => null,
        (true, Errno.EMFILE or Errno.ENFILE) => new(
            IoUringRefusalKind.SetupFailed, failure.ErrorNumber,
            $"io_uring found no free descriptor for its self-test, as {Errno.Describe(failure.ErrorNumber)}",
            Errno.DescriptorRemedy(failure.ErrorNumber)!),
        _ => new(
            IoUringRefusalKind.SetupFailed,
            failure.ErrorNumber,
            $"io_uring found no memory for its self-test ({failure.What})",
            Advice.Memory),
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

using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.Seccomp;

namespace Millrace.Server.Host;

/// <summary>
/// Builds programs for seccomp(2). Pure: <see cref="Sandbox"/> installs them. A denied call fails with an error and does not kill the
/// process, as libraries may try it and continue without.
/// </summary>
internal static class SystemCallFilter
{
    /// <summary><c>AUDIT_ARCH_*</c> of <c>linux/audit.h</c>.</summary>
    private const uint AuditX64 = 0xC000_003E;
    private const uint AuditArm64 = 0xC000_00B7;

    /// <summary>From this number on x64 has the x32 ABI's numbers for the same calls.</summary>
    private const uint FirstX32Number = 0x4000_0000;

    /// <summary><c>CLONE_THREAD</c>: without it the call creates a process.</summary>
    private const uint CloneThread = 0x0001_0000;

    /// <summary>AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (used by getaddrinfo and for the list of local addresses).</summary>
    private static readonly uint[] SocketFamilies = [1, 2, 10, 16];

    /// <summary>Allows everything, which the kernel optimizes away: it applies no_new_privs to all threads.</summary>
    public static FilterInstruction[] Nothing => [Return(FilterVerdict.Allow)];

    /// <summary>Denies system calls that serving does not need.</summary>
    public static FilterInstruction[] Build(Architecture architecture)
    {
        bool isX64 = architecture == Architecture.X64;
        (uint clone, uint clone3, uint socket) = isX64 ? (56u, 435u, 41u) : (220u, 435u, 198u);
        var program = new List<FilterInstruction>
        {
            // On another architecture the numbers would mean other calls.
            Load(FilterData.Architecture),
            IfEqual(isX64 ? AuditX64 : AuditArm64, skip: 1),
            Return(FilterVerdict.KillProcess),
            Load(FilterData.Number),
        };
        if (isX64)
        {
            program.Add(new FilterInstruction(FilterCode.IfAtLeast, 0, 1, FirstX32Number));
            program.Add(Fail(Errno.ENOSYS));
        }

        AddOnFirstArgument(program, clone,
        [
            new FilterInstruction(FilterCode.IfHas, 1, 0, CloneThread),
            Fail(Errno.EPERM),
            Return(FilterVerdict.Allow),
        ]);

        // clone3 passes its flags in memory, which filters cannot read. Libraries fall back to clone on ENOSYS.
        AddVerdict(program, clone3, Fail(Errno.ENOSYS));
        AddOnFirstArgument(program, socket,
        [
            .. SocketFamilies.Select((family, i) => IfEqual(family, skip: SocketFamilies.Length - i)),
            Fail(Errno.EAFNOSUPPORT),
            Return(FilterVerdict.Allow),
        ]);
        foreach (uint number in DeniedSystemCall.All.Select(call => isX64 ? call.X64 : call.Arm64).OfType<uint>())
        {
            AddVerdict(program, number, Fail(Errno.EPERM));
        }

        program.Add(Return(FilterVerdict.Allow));
        return [.. program];
    }

    /// <summary>
    /// Decides on one call by its first argument. Each path must return a verdict, as the call number is no longer loaded.
    /// </summary>
    private static void AddOnFirstArgument(List<FilterInstruction> program, uint number, FilterInstruction[] decision)
    {
        program.Add(new FilterInstruction(FilterCode.IfEqual, 0, (byte)(decision.Length + 1), number));
        program.Add(Load(FilterData.FirstArgument));
        program.AddRange(decision);
    }

    private static void AddVerdict(List<FilterInstruction> program, uint number, FilterInstruction verdict)
    {
        program.Add(new FilterInstruction(FilterCode.IfEqual, 0, 1, number));
        program.Add(verdict);
    }

    private static FilterInstruction Load(uint offset) => new(FilterCode.Load, 0, 0, offset);

    private static FilterInstruction IfEqual(uint value, int skip) => new(FilterCode.IfEqual, (byte)skip, 0, value);

    private static FilterInstruction Return(uint verdict) => new(FilterCode.Return, 0, 0, verdict);

    private static FilterInstruction Fail(int errno) => Return(FilterVerdict.Fail | (uint)errno);
}

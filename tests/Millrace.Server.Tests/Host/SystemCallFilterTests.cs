using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;
using Millrace.Interop;
using Millrace.Interop.Seccomp;
using Millrace.Server.Host;

namespace Millrace.Server.Tests.Host;

/// <summary>The program for seccomp, run by a small machine of the test's.</summary>
public partial class SystemCallFilterTests
{
    private const uint X64 = 0xC000_003E;
    private const uint Arm64 = 0xC000_00B7;

    public static TheoryData<Architecture> Architectures => [Architecture.X64, Architecture.Arm64];

    [Theory]
    [MemberData(nameof(Architectures))]
    public void What_a_server_has_no_use_for_is_refused(Architecture architecture)
    {
        foreach (DeniedSystemCall call in DeniedSystemCall.All)
        {
            if (NumberOf(call, architecture) is { } number)
            {
                Assert.True(Failure(Errno.EPERM) == Run(architecture, number), call.Name);
            }
        }
    }

    /// <summary>read, mmap, futex, rt_sigreturn, mprotect, openat, exit_group; io_uring_enter and io_uring_register.</summary>
    [Theory]
    [InlineData(Architecture.X64, 0, 9, 202, 15, 10, 257, 231, 426, 427)]
    [InlineData(Architecture.Arm64, 63, 222, 98, 139, 226, 56, 94, 426, 427)]
    public void What_the_runtime_lives_on_passes(Architecture architecture, params int[] numbers) =>
        Assert.All(numbers, number => Assert.Equal(FilterVerdict.Allow, Run(architecture, (uint)number)));

    [Theory]
    [InlineData(Architecture.X64, 56)]
    [InlineData(Architecture.Arm64, 220)]
    public void Threads_are_made_and_processes_are_not(Architecture architecture, uint clone)
    {
        // What glibc asks for a thread, and for a fork.
        Assert.Equal(FilterVerdict.Allow, Run(architecture, clone, argument: 0x3D_0F00));
        Assert.Equal(Failure(Errno.EPERM), Run(architecture, clone, argument: 0x0120_0011));
        Assert.Equal(Failure(Errno.ENOSYS), Run(architecture, number: 435));
    }

    [Theory]
    [InlineData(Architecture.X64, 41)]
    [InlineData(Architecture.Arm64, 198)]
    public void Sockets_are_of_the_families_that_are_served_or_asked(Architecture architecture, uint socket)
    {
        Assert.All((uint[])[1, 2, 10, 16], family => Assert.Equal(FilterVerdict.Allow, Run(architecture, socket, family)));

        // AF_PACKET, AF_ALG, AF_VSOCK.
        Assert.All((uint[])[17, 38, 40], family => Assert.Equal(Failure(Errno.EAFNOSUPPORT), Run(architecture, socket, family)));
    }

    [Theory]
    [MemberData(nameof(Architectures))]
    public void A_call_by_another_architectures_numbers_ends_the_process(Architecture architecture)
    {
        uint other = architecture == Architecture.X64 ? Arm64 : X64;
        Assert.Equal(FilterVerdict.KillProcess, Run(SystemCallFilter.Build(architecture), other, number: 0, argument: 0));
    }

    [Fact]
    public void Numbers_of_x32_are_no_way_around() =>
        Assert.Equal(Failure(Errno.ENOSYS), Run(Architecture.X64, 0x4000_0000 + 59));

    [Fact]
    public void The_program_that_refuses_nothing_refuses_nothing() =>
        Assert.Equal(FilterVerdict.Allow, Run(SystemCallFilter.Nothing, X64, number: 59, argument: 0));

    [Theory]
    [InlineData(Architecture.X64, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h")]
    [InlineData(Architecture.Arm64, "/usr/include/asm-generic/unistd.h")]
    public void Numbers_are_the_kernels(Architecture architecture, string header)
    {
        Assert.SkipUnless(File.Exists(header), $"{header} is not installed.");
        Dictionary<string, uint?> numbers = Definition().Matches(File.ReadAllText(header)).ToDictionary(
            static match => match.Groups["name"].Value,
            static match => (uint?)uint.Parse(match.Groups["number"].Value, CultureInfo.InvariantCulture));
        foreach (DeniedSystemCall call in DeniedSystemCall.All)
        {
            Assert.Equal((call.Name, numbers.GetValueOrDefault(call.Name)), (call.Name, NumberOf(call, architecture)));
        }
    }

    private static uint? NumberOf(DeniedSystemCall call, Architecture architecture) => architecture == Architecture.X64 ? call.X64 : call.Arm64;

    private static uint Failure(int errno) => FilterVerdict.Fail | (uint)errno;

    private static uint Run(Architecture architecture, uint number, uint argument = 0) =>
        Run(SystemCallFilter.Build(architecture), architecture == Architecture.X64 ? X64 : Arm64, number, argument);

    /// <summary>Classic BPF over a <c>struct seccomp_data</c>.</summary>
    private static uint Run(FilterInstruction[] program, uint architecture, uint number, uint argument)
    {
        uint accumulator = 0;
        for (int at = 0; ; at++)
        {
            FilterInstruction instruction = program[at];
            if (instruction.Code == 0x06)
            {
                return instruction.Operand;
            }

            if (instruction.Code == 0x20)
            {
                accumulator = instruction.Operand switch
                {
                    0 => number,
                    4 => architecture,
                    16 => argument,
                    _ => throw new InvalidOperationException($"Nothing the test knows lies at {instruction.Operand}."),
                };
                continue;
            }

            bool holds = instruction.Code switch
            {
                0x15 => accumulator == instruction.Operand,
                0x35 => accumulator >= instruction.Operand,
                0x45 => (accumulator & instruction.Operand) != 0,
                _ => throw new InvalidOperationException($"{instruction.Code:X} is no instruction the test knows."),
            };
            at += holds ? instruction.IfTrue : instruction.IfFalse;
        }
    }

    [GeneratedRegex(@"^#define __NR(?:3264)?_(?<name>\w+)\s+(?<number>\d+)$", RegexOptions.Multiline)]
    private static partial Regex Definition();
}

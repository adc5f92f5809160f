using System.Runtime.InteropServices;
using Millrace.Interop.Files;

namespace Millrace.Engine.Tests.Kit;

/// <summary>The process's limit of descriptors, lowered for the time of a test.</summary>
internal static unsafe partial class DescriptorLimit
{
    private const int RlimitNoFile = 7;

    public static int Set(ResourceLimit limit) => setrlimit(RlimitNoFile, &limit);

    [LibraryImport("libc")]
    private static partial int setrlimit(int resource, ResourceLimit* limit);
}

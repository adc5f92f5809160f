using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A site that, once it is deployed again, answers with the bytes of another release under the head of the present one.</summary>
internal sealed unsafe class ReadsAnOldRelease(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    private const string Release = "/release-";

    private readonly List<SafeFileHandle> _opened = [];

    public override void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset) =>
        base.SubmitRead(token, OldOf(file), destination, bytes, offset);

    protected override void Tamper(List<Completion> completions)
    {
    }

    protected override void Dispose(bool disposing)
    {
        base.Dispose(disposing);
        _opened.ForEach(static opened => opened.Dispose());
    }

    private int OldOf(int file)
    {
        // Those that are opened on demand are numbers of the simulation's own.
        string link = $"/proc/self/fd/{file}";
        if (Kernel.Simulation.Deployment is not { WasRepeated: true } || !File.Exists(link))
        {
            return file;
        }

        string path = File.ResolveLinkTarget(link, returnFinalTarget: false)!.FullName;
        int place = path.IndexOf(Release, StringComparison.Ordinal);
        if (place < 0)
        {
            return file;
        }

        int digit = place + Release.Length;

        int other = (path[digit] - '0' + 1) % SimulatedReleases.Count;
        SafeFileHandle opened = File.OpenHandle($"{path[..digit]}{other}{path[(digit + 1)..]}");
        _opened.Add(opened);
        return (int)opened.DangerousGetHandle();
    }
}

using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Pinned;

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedEndingTests : EndingTests
{
    internal override bool SendsCopies => false;

    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedFilterTests : FilterTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}

#if !DEBUG
[Trait("Backend", "io_uring")]
[Trait("Duration", "Full")]
public class PinnedAllocationTests : AllocationTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Pinned();
}
#endif
